// Tensors in .npy files, for the inputs and outputs of models.
#pragma once

#include <cstddef>
#include <filesystem>
#include <map>
#include <string>
#include <vector>

#include "command_line/new_files.hpp"
#include "dynquant/model.hpp"
#include "model/graph.hpp"
#include "npy/npy.hpp"

namespace dqmodel {

/// The file of each input, in the order of the ports, from "name=x.npy", or "x.npy" for a single input. Throws
/// std::runtime_error, naming the option.
std::vector<std::filesystem::path> files_of(
        const std::vector<std::string> &given, const std::vector<dynquant::models::port> &ports, const char *option);

/// Parses "name=1,3". Throws std::runtime_error.
std::map<std::string, dynquant::dims> shapes_of(const std::vector<std::string> &given);

/// Throws error for an input whose shape neither the model nor --shape fixes.
void expect_shapes(
        const std::vector<dynquant::models::port> &inputs, const std::map<std::string, dynquant::dims> &shapes);

/// Reads a file's tensor, dense and row-major. Its type must be the port's, and its shape except for free extents. With
/// `many` the first extent may be a multiple of the port's. Throws std::runtime_error, naming the port and the file.
dynquant::models::tensor read_tensor(
        const std::filesystem::path &file, const dynquant::models::port &port, bool many = false);

/// Throws std::runtime_error unless write_tensor() can write all outputs, each to a different file.
void expect_files(const std::vector<dynquant::model_port> &outputs);

/// Writes NAME.npy in the folder and returns its path. '/', ':' and control characters become '_'.
std::filesystem::path write_tensor(command_line::new_files &files, const std::filesystem::path &folder,
        const dynquant::model_port &port, const std::byte *data);

/// Bytes of a port's tensor.
std::size_t bytes_of(const dynquant::model_port &port);

} // namespace dqmodel

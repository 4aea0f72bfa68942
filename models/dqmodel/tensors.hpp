// Tensors in .npy files, for the inputs and outputs of models.
#pragma once

#include <cstddef>
#include <filesystem>
#include <map>
#include <string>
#include <vector>

#include "dynquant/model.hpp"
#include "model/graph.hpp"
#include "npy/npy.hpp"

namespace dqmodel {

/// Which file is which input's, in the order of the ports: from "name=x.npy" for each, or "x.npy" when there is one.
std::vector<std::filesystem::path> files_of(
        const std::vector<std::string> &given, const std::vector<dynquant::models::port> &ports, const char *option);

/// The shapes that "name=1,3" states.
std::map<std::string, dynquant::dims> shapes_of(const std::vector<std::string> &given);

/// Throws error for an input whose shape the model leaves open and --shape does not state.
void expect_shapes(
        const std::vector<dynquant::models::port> &inputs, const std::map<std::string, dynquant::dims> &shapes);

/// A file's tensor, dense and row-major. It must have the port's type, and its shape but for extents that are free, and
/// for the first one where the file may hold `many` of it. Throws std::runtime_error, naming the port and the file.
dynquant::models::tensor read_tensor(
        const std::filesystem::path &file, const dynquant::models::port &port, bool many = false);

/// Throws std::runtime_error unless write_tensor() can write each of the outputs, to a file of its own.
void expect_files(const std::vector<dynquant::model_port> &outputs);

/// NAME.npy in the folder, with what a file's name cannot have replaced.
std::filesystem::path write_tensor(npy::new_files &files, const std::filesystem::path &folder,
        const dynquant::model_port &port, const std::byte *data);

/// Bytes of a port's tensor.
std::size_t bytes_of(const dynquant::model_port &port);

} // namespace dqmodel

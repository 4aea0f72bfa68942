// Reads a node test of ONNX: a folder with model.onnx, a model of one node, and its tensors test_data_set_0/input_0.pb,
// input_1.pb, ..., output_0.pb, ... Files are parsed by ONNX's messages, and wrong files are never read out of bounds.
#pragma once

#include <cstddef>
#include <filesystem>
#include <stdexcept>
#include <string>
#include <vector>

#include "dynquant/onnx.hpp"

namespace dynquant::test {

/// Thrown for a file that cannot be read or has other content.
struct file_error : std::runtime_error {
    using std::runtime_error::runtime_error;
};

/// A tensor, with dense and packed elements as dynquant takes them.
struct tensor_file {
    onnx::value what;
    std::vector<std::byte> data;
};

struct node_test {
    onnx::node node; // with the types and shapes of the input tensors
    std::vector<tensor_file> graph_inputs;
    /// The index of the graph's input for each input of the node; -1 for an absent one.
    std::vector<int> node_inputs;
    /// The outputs that the model declares.
    std::vector<onnx::element_type> graph_outputs;

    /// The arguments of a run, with the inputs, which this object owns.
    onnx::arguments arguments(const std::vector<std::byte *> &outputs) const;
};

/// A message of onnx.pb.h: ModelProto or TensorProto. Throws file_error.
template <typename Message>
Message read_message(const std::filesystem::path &path);

/// Throws file_error.
tensor_file read_tensor(const std::filesystem::path &path);

/// Throws file_error.
node_test read_node_test(const std::filesystem::path &folder);

/// The folder's tensors of kind "input" or "output". Throws file_error.
std::vector<tensor_file> read_tensors(const std::filesystem::path &folder, const std::string &kind);

void write_tensor(const std::filesystem::path &path, const tensor_file &tensor);

std::filesystem::path tensor_path(const std::filesystem::path &folder, const std::string &kind, std::size_t number);

} // namespace dynquant::test

// A node test as ONNX's are: a folder of model.onnx, a model of one node, and its tensors test_data_set_0/input_0.pb,
// input_1.pb, ..., output_0.pb, ... Read by ONNX's own messages; whatever the files hold, nothing is read beyond them.
#pragma once

#include <cstddef>
#include <filesystem>
#include <stdexcept>
#include <string>
#include <vector>

#include "dynquant/onnx.hpp"

namespace dynquant::test {

/// A file that cannot be read, or holds something else.
struct file_error : std::runtime_error {
    using std::runtime_error::runtime_error;
};

/// A tensor: its elements as dynquant takes them, dense and packed.
struct tensor_file {
    onnx::value what;
    std::vector<std::byte> data;
};

struct node_test {
    onnx::node node; // with its inputs, as the tensors are
    std::vector<tensor_file> graph_inputs;
    /// Which of the graph's inputs is the node's; -1 for one that is left out.
    std::vector<int> node_inputs;
    /// What the model says of them.
    std::vector<onnx::element_type> graph_outputs;

    /// With the inputs, which live as long as this does, and without outputs.
    onnx::arguments arguments() const;
};

/// Throws file_error.
node_test read_node_test(const std::filesystem::path &folder);

/// The folder's tensors of a kind, "input" or "output". Throws file_error.
std::vector<tensor_file> read_tensors(const std::filesystem::path &folder, const std::string &kind);

void write_tensor(const std::filesystem::path &path, const tensor_file &tensor);

std::filesystem::path tensor_path(const std::filesystem::path &folder, const std::string &kind, std::size_t number);

} // namespace dynquant::test

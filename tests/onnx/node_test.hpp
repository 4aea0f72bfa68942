// A node test as ONNX's are: a folder of model.onnx, a model of one node, and its tensors test_data_set_0/input_0.pb,
// input_1.pb, ..., output_0.pb, ...
#pragma once

#include <string>

#include "model_file.hpp"

namespace dynquant::test {

struct node_test {
    onnx::node node; // with its inputs, as the tensors are
    std::vector<tensor_file> graph_inputs;
    /// Which of the graph's inputs is the node's; -1 for one that is left out.
    std::vector<int> node_inputs;
    /// What the model says of them.
    std::vector<onnx::value> graph_outputs;

    /// With the inputs, which live as long as this does, and without outputs.
    onnx::arguments arguments() const;
};

/// That the tensors are the graph's inputs, as the model declares them. Throws file_error, with `name`.
void check_inputs(const model_file &model, const std::vector<tensor_file> &inputs, const std::string &name);

/// Throws file_error.
node_test read_node_test(const std::filesystem::path &folder);

/// The folder's tensors of a kind, "input" or "output". Throws file_error.
std::vector<tensor_file> read_tensors(const std::filesystem::path &folder, const std::string &kind);

std::filesystem::path tensor_path(const std::filesystem::path &folder, const std::string &kind, std::size_t number);

} // namespace dynquant::test

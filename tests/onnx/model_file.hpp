// ONNX's model and tensor files, as its node tests have them: a model of one node, and its inputs and outputs.
#pragma once

#include <cstddef>
#include <filesystem>
#include <stdexcept>
#include <vector>

#include "dynquant/onnx.hpp"

namespace dynquant::test {

/// A file that cannot be read, is cut short, or holds something else: the file, what was expected, what was given.
struct file_error : std::runtime_error {
    using std::runtime_error::runtime_error;
};

/// A tensor: its elements as dynquant takes them, dense and packed.
struct tensor_file {
    onnx::value what;
    std::vector<std::byte> data;
};

/// A model of one node. What the graph's inputs and outputs say of types and shapes is in values.
struct model_file {
    onnx::node node; // without inputs
    std::vector<onnx::value> graph_inputs, graph_outputs;
    /// Which of the graph's inputs is the node's; -1 for one that is left out.
    std::vector<int> node_inputs;
};

/// Bytes of a file of at most 64 MiB. Throws file_error.
std::string read_file(const std::filesystem::path &path);

/// The number of elements of a shape. Throws file_error, with `name`, when no file can hold so many.
std::int64_t count_of(const dims &shape, const std::string &name);

/// `name` is for messages. Throw file_error, whatever the bytes are.
tensor_file parse_tensor(const std::string &bytes, const std::string &name);
model_file parse_model(const std::string &bytes, const std::string &name);

/// The bytes that parse_tensor takes.
std::string serialize_tensor(const tensor_file &tensor);

} // namespace dynquant::test

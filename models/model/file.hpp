// Reads and writes model files.
#pragma once

#include <string>
#include <string_view>

#include "model/graph.hpp"

namespace dynquant::models {

/// Parses the bytes of a file into a graph, with its nodes in topological order. The bytes are untrusted. Tensors may
/// be in other files of the folder; without one, "", such tensors are refused. Throws error; messages do not name the
/// file.
graph read(std::string_view bytes, const std::string &folder = "");

/// Serializes the graph as a model file (ONNX's IR version 8). Does not write value_types.
std::string write(const graph &g);

/// Reads a whole file. Throws error, whose message names it.
std::string bytes_of_file(const std::string &path);

/// The folder of a file. A link's is the one in which the link is.
std::string folder_of(const std::string &path);

} // namespace dynquant::models

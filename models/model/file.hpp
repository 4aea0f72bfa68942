// Reads and writes model files.
#pragma once

#include <string>
#include <string_view>

#include "model/graph.hpp"

namespace dynquant::models {

/// Parses the bytes of a file into a graph, with its nodes in topological order. The bytes are untrusted. Throws error;
/// messages do not name the file.
graph read(std::string_view bytes);

/// Serializes the graph as a model file (ONNX's IR version 8). Does not write value_types.
std::string write(const graph &g);

/// Reads a whole file. Throws error, whose message names it.
std::string bytes_of_file(const std::string &path);

} // namespace dynquant::models

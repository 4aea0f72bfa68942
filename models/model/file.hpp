// Model files: from bytes to a graph and back.
#pragma once

#include <string>
#include <string_view>

#include "model/graph.hpp"

namespace dynquant::models {

/// The graph that the bytes of a file state, its nodes in order. Throws error, whatever the bytes are; messages do not
/// name the file.
graph read(std::string_view bytes);

/// The bytes of a file that states the graph (ONNX's IR version 8). value_types are not written.
std::string write(const graph &g);

/// All of a file. Throws error, naming it.
std::string bytes_of_file(const std::string &path);

} // namespace dynquant::models

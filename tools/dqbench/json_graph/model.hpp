// json_graph/ makes dqbench's cases from a oneDNN Graph in JSON. read.hpp reads the file into this model, rewrite.hpp
// applies
// --in-shapes and --op-attrs, plan.hpp makes options and problems of it.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "test_case.hpp"

namespace dqbench::json_graph {

struct tensor {
    std::uint64_t id;
    std::string type;                      // oneDNN's name; dqbench may not support it
    std::optional<dynquant::dims> extents; // none: unknown
    std::string layout;                    // oneDNN's name
    std::optional<dynquant::dims> strides; // none: unknown, or of another layout
    std::string property = "undef";        // oneDNN's name
};

/// Of an op that is not one of the four.
struct attribute {
    std::string type;            // bool, s64, f32, string, s64[] or f32[]; empty: none of these
    std::vector<double> numbers; // a bool is 0 or 1
    std::string text;            // of a string
};

struct op {
    std::uint64_t id;
    std::string name, kind;
    std::optional<op_kind> supported_kind;         // none: not one of the four
    std::map<std::string, std::string> attributes; // of the four ops only; values as in benchdnn's --op-attrs
    std::map<std::string, attribute> others;       // of other ops
    std::vector<tensor> inputs, outputs;
};

struct graph {
    std::string file;
    std::string arguments; // dqbench's arguments that make this graph
    std::string fpmath_mode;
    std::vector<op> ops;
    std::vector<std::string> notes = {}; // what a rewriting left out
};

/// op 3 'conv1_quant' (Quantize)
std::string describe(const op &which);

} // namespace dqbench::json_graph

// A oneDNN Graph as its JSON states it: the part that the cases of dqbench are made from.
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
    std::string type;                      // oneDNN's name, which dqbench need not know
    std::optional<dynquant::dims> extents; // none: unknown
    std::string layout;                    // oneDNN's name
    std::optional<dynquant::dims> strides; // none: unknown, or of another layout
};

struct op {
    std::uint64_t id;
    std::string name, kind;
    std::optional<op_kind> supported_kind;         // none: not one of the four
    std::map<std::string, std::string> attributes; // of the four only, as benchdnn's --op-attrs writes values
    std::vector<tensor> inputs, outputs;
};

struct graph {
    std::string file;
    std::string arguments; // of dqbench, that lead to it
    std::string fpmath_mode;
    std::vector<op> ops;
};

/// op 3 'conv1_quant' (Quantize)
std::string describe(const op &which);

} // namespace dqbench::json_graph

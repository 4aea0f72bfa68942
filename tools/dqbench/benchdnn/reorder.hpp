// benchdnn's reorder driver: what its options and dims come to as a DynamicQuantize or DynamicDequantize.
#pragma once

#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "json_graph/plan.hpp"

namespace dqbench::benchdnn {

class reorder {
  public:
    /// Whether the driver has an option of this name; runtime_dim_mask is runtime-dim-mask.
    static bool has(std::string_view name);

    /// Takes a comma list. Throws usage_error, changing nothing.
    void set(std::string_view name, std::string_view list);

    /// One plan for each combination of values, and the arguments that make it.
    struct planned {
        json_graph::plan plan;
        std::string arguments;
    };
    std::vector<planned> plans_for(const std::string &problem) const;

  private:
    std::map<std::string, std::vector<std::string>, std::less<>> values_;
};

/// An entry of --attr-scales or --attr-zero-points: ARG:MASK[:VALUE[:TYPE]] or ARG:MASK[:TYPE[:GROUPS]].
struct quantization_attribute {
    std::string policy;         // the mask as it was given
    std::string value, type;    // empty: not given
    dynquant::dims groups = {}; // of the last dims; empty: not given
};

/// Entries by src and dst, of a text with + between them. Throws usage_error.
std::map<std::string, quantization_attribute> parse_attributes(std::string_view text);

} // namespace dqbench::benchdnn

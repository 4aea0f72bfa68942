// A stage: one node or several, prepared to run.
#pragma once

#include <functional>
#include <span>

#include "dynquant/model.hpp"
#include "layers/conv/accumulator_source.hpp"
#include "model/graph.hpp"

namespace dynquant::models {

/// The buffers of one run, and the memory that its layers share. Buffers do not overlap; buffers of zero volume may be
/// null.
struct stage_arguments {
    std::span<const void *const> inputs;
    void *output;
    layers::workspace &memory;
};

/// Thread-safe, and called under parallel::float_control. It must not throw for what its preparation can check.
using stage = std::function<void(const stage_arguments &args)>;

/// A stage and the names of the values that are its inputs and its output.
struct placed_stage {
    stage work;
    std::vector<std::string> inputs;
    std::string output;
    model_stage description;
};

} // namespace dynquant::models

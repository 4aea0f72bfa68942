// A tensor of a run that a layer adds to its y, where their shapes differ.
#pragma once

#include <cstddef>
#include <string>
#include <vector>

#include "layers/layer/layer.hpp"

namespace dynquant::onnxruntime {

struct repeated_operands {
    std::vector<std::byte> x, tensor;
};

/// A layer whose y is to be added to a tensor of another shape.
struct unequal_summands {
    const std::string &label;
    bool keeps_shape; // the sum has y's
    dims x, y, tensor;
    std::size_t x_bytes;      // of one element
    bool x_has_heads = false; // see layers::layer_description

    /// Repeats x and the tensor, in `memory`, as far as numpy's broadcasting of y + tensor does. Returns the shape of x
    /// then: where rows of y repeat, so do those of x. Throws error where they do not broadcast, or where the sum has
    /// other columns than y, or another shape where it keeps that.
    dims repeat(layers::layer_arguments &args, repeated_operands &memory) const;
};

} // namespace dynquant::onnxruntime

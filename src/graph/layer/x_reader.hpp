// x of a layer at each run: its bytes, after a Quantize that belongs to the layer, and the parameters of its rows or
// images. Of a weight-only layer floats, without parameters.
#pragma once

#include "graph/layer/byte_side.hpp"
#include "graph/layer/layer_shapes.hpp"
#include "layers/layer/layer.hpp"
#include "targets/features.hpp"

namespace dynquant::graph::core {

/// x as layers take it. What the spans point to is of the run's buffers, of its memory, or of the reader.
struct x_of_run {
    const std::byte *bytes; // or floats; matrix by matrix, row-major
    std::span<const float> scales;
    std::span<const std::int32_t> zero_points;
};

class x_reader {
  public:
    /// What a run writes, kept for the next one.
    struct memory {
        layers::aligned_vector<std::byte> quantized, dense, computed_scales, computed_zero_points;
        layers::aligned_vector<float> widened;
        std::vector<float> scales;
        std::vector<std::int32_t> zero_points;
    };

    /// `s` outlives it.
    x_reader(const layer_shapes &s, kernels::kernel_list kernels, targets::features features);

    x_of_run read(port_buffers buffers, memory &m) const;

    const side_parameters &parameters() const { return parameters_; }
    bool is_signed() const { return is_signed_; }
    bool is_float() const { return s_.ops.is_weight_only(); }
    size_t element_bytes() const { return is_float() ? sizeof(float) : 1; } // of what read() gives

  private:
    const std::byte *quantize(port_buffers buffers, memory &m) const;
    const std::byte *make_dense(const std::byte *x, memory &m) const;
    const std::byte *widen(const std::byte *x, memory &m) const;
    std::span<const float> read_scales(const std::byte *given, memory &m) const;
    std::span<const std::int32_t> read_zero_points(const std::byte *given, memory &m) const;

    const layer_shapes &s_;
    targets::features features_;
    size_t given_bytes_; // of an element of x
    side_parameters parameters_;
    bool is_signed_, is_dense_;
    size_t x_ = no_port, scales_ = no_port, zps_ = no_port, quantize_inputs_[3] = {no_port, no_port, no_port};
    std::optional<operation> quantize_; // where the layer quantizes x
    bool computes_scales_ = false;      // by that Quantize
    size_t computed_count_ = 0;
};

} // namespace dynquant::graph::core

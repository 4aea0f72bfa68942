// A test case with its layouts resolved and its parameters counted.
#pragma once

#include <optional>

#include "parameters.hpp"
#include "test_case.hpp"

namespace dqbench {

/// NVFP4's scale of the whole tensor. With the usual scales of up to 2, those of the blocks are within f8_e4m3's range.
inline constexpr double usual_global_scale = 0.0131;

struct statement {
    /// Throws usage_error when a layout does not fit the problem.
    explicit statement(const test_case &c);

    bool quantizing, dynamic;
    data_types types;
    dynquant::dims extents;
    dynquant::dims src_strides;
    std::optional<dynquant::dims> dst_strides; // none: the library chooses
    granularity qtype;
    std::int64_t axis;    // as given, maybe negative
    dynquant::dims group; // an extent for each dim
    fpmath_mode fpmath;
    rule_kind rounding;
    dynquant::precision division;
    bool saturate;
    std::optional<dynquant::scale_rule> computed;
    std::optional<float> global_scale;

    /// The channels' dim; none if not per_channel, or for an axis that the library must refuse.
    std::optional<std::size_t> channel_dim() const;
    std::int64_t parameter_count() const;
    /// The extents of a block of elements that share a parameter.
    dynquant::dims block() const;
    /// The dims of scales and zero points of a dynamic op.
    dynquant::dims parameter_dims() const;
    std::int64_t volume() const;

    /// The statement for the direct API under `rule`: rule(), or exact_rule(), whose results are defined bit for bit.
    dynquant::quantization direct(
            const parameters &p, const dynquant::dims &dst_strides, dynquant::numerics rule) const;
    dynquant::numerics rule() const;
    dynquant::numerics exact_rule() const;
};

/// The bytes from a tensor's first to its last element; 0 for zero volume. Throws usage_error on overflow.
std::int64_t span_in_bytes(data_type type, const dynquant::dims &extents, const dynquant::dims &strides);

struct element {
    std::int64_t index;    // row-major, in any layout
    std::int64_t src, dst; // offsets in elements
    std::int64_t channel;  // the index of its scale and zero point
};

/// Maps an element's index to that of its parameter.
class parameter_finder {
  public:
    explicit parameter_finder(const statement &s);

    std::int64_t operator()(const dynquant::dims &at) const {
        std::int64_t parameter = 0;
        for (const auto &d : varying_)
            parameter += at[d.dim] / d.block * d.stride;
        return parameter;
    }

  private:
    struct varying_dim {
        std::size_t dim;
        std::int64_t block, stride;
    };
    std::vector<varying_dim> varying_;
};

/// Calls f(element) for each element, in row-major order.
template <typename F>
void for_each_element(const statement &s, const dynquant::dims &dst_strides, F &&f) {
    const auto rank = s.extents.size();
    const parameter_finder channel_of(s);
    const auto count = s.volume();
    dynquant::dims at(rank);
    element e {};
    for (; e.index < count; ++e.index) {
        e.channel = channel_of(at);
        f(static_cast<const element &>(e));
        for (auto d = rank; d-- > 0;) {
            e.src += s.src_strides[d];
            e.dst += dst_strides[d];
            if (++at[d] < s.extents[d]) break;
            e.src -= s.src_strides[d] * s.extents[d];
            e.dst -= dst_strides[d] * s.extents[d];
            at[d] = 0;
        }
    }
}

} // namespace dqbench

// The parameters of a box from the ranges of its blocks.
#pragma once

#include "kernels/native/microkernel.hpp"
#include "quantization/computed.hpp"

namespace dynquant::kernels::native {

/// Parameters of a box: they fit on the stack.
constexpr std::int64_t box_capacity = 1024;

/// -0 and the bits of infinity.
constexpr std::uint32_t lowest_bits = 0x80000000, infinity_bits = 0x7f800000;

/// Ranges of consecutive blocks (ranges.hpp): as bits of src's type while they are found, until widen() makes them bits
/// of f32.
template <std::int64_t Capacity>
struct alignas(64) ranges {
    std::uint32_t low[Capacity + widest_step], high[Capacity + widest_step];
};

/// What the statement of a box takes: `limit` as its scales, `factor` as its second scales, and zero points.
struct alignas(64) box_parameters {
    float limit[box_capacity + widest_step], factor[box_capacity + widest_step];
    std::byte zero_points[box_capacity];
};

/// Parameters of groups. A box has at most this many.
constexpr std::int64_t group_capacity = 128;
struct alignas(64) group_arrays {
    float multiplier[group_capacity + widest_step], residual[group_capacity + widest_step];
    std::int32_t zero_point[group_capacity + widest_step];
};

class parameter_formulas {
  public:
    parameter_formulas(const quantization &q, const kernel_loops &loops);

    /// Sets ranges to those of no element. For whole vectors, as widen() and compute() read these.
    void make_empty(std::int64_t count, std::uint32_t *low, std::uint32_t *high) const;
    /// Ranges from bits of src's type to those of f32.
    void widen(std::int64_t count, std::uint32_t *low, std::uint32_t *high) const;

    static bool has_nonfinite(std::int64_t count, const std::uint32_t *low, const std::uint32_t *high);

    /// Computes `count` parameters from their ranges and writes those that are outputs, from number `first` on.
    bool compute(const arguments &args, std::int64_t first, std::int64_t count, const ranges<box_capacity> &r,
            box_parameters &p) const;
    found_parameters compute(const arguments &args, std::int64_t first, std::int64_t count,
            const ranges<group_capacity> &r, group_arrays &p) const;

    const numerics_contract::scale_formula &formula() const { return formula_; }

  private:
    found_parameters compute(const arguments &args, std::int64_t first, computed_parameters &p) const;
    void write_scales(const computed_parameters &p, void *scales, std::int64_t first) const;
    void write_zero_points(const std::int32_t *zero_point, std::int64_t count, void *to, std::int64_t first) const;

    numerics_contract::scale_formula formula_;
    const kernel_loops &loops_;
    data_type src_, dst_;
    bool has_global_, has_zero_points_;
    write_function write_; // scales of f16, bf16 and f8_e4m3
};

} // namespace dynquant::kernels::native

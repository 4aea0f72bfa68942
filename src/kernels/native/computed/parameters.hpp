// The parameters of a box from the ranges of its blocks: the formulas of quantization/computed.hpp on arrays.
#pragma once

#include "kernels/native/microkernel.hpp"
#include "quantization/computed.hpp"

namespace dynquant::kernels::native {

/// Parameters of a box: they fit on the stack.
constexpr std::int64_t box_capacity = 1024;

/// -0 and the bits of infinity.
constexpr std::uint32_t lowest_bits = 0x80000000, infinity_bits = 0x7f800000;

/// Parameters of a box. While ranges are found, `first` and `second` are low and high bounds, as bits of src's type.
/// Afterwards `first` is what the box's statement takes as scales, `second` as second scales.
struct alignas(64) box_parameters {
    std::uint32_t first[box_capacity], second[box_capacity];
    std::byte zero_points[box_capacity];
};

class parameter_formulas {
  public:
    parameter_formulas(const quantization &q, const instruction_set &set);

    /// Computes `count` parameters from their ranges, in place, and writes them, from number `first` on. Returns
    /// whether all are regular: then the box's statement gives the codes of the rule, which may be narrow.
    bool compute(const arguments &args, std::int64_t first, std::int64_t count, box_parameters &p) const;

    const numerics_contract::scale_formula &formula() const { return formula_; }

  private:
    void find_ranges(std::int64_t count, const box_parameters &p, float *range) const;
    void find_scales(std::int64_t count, const float *range, float global, float *scale) const;
    void find_powers_of_two(std::int64_t count, const float *range, float *scale, std::uint8_t *to) const;
    void round_and_write(std::int64_t count, float *scale, void *scales, std::int64_t first) const;
    void find_zero_points(std::int64_t count, const float *low, const float *scale, std::uint8_t *zero_point) const;
    void write_zero_points(const std::uint8_t *zero_point, std::int64_t count, void *to, std::int64_t first) const;
    void find_operands(std::int64_t count, const float *range, const float *scale, float global, float *operand) const;
    bool are_regular(std::int64_t count, const float *range, const float *low, const float *scale, const float *operand,
            const std::uint8_t *zero_point) const;

    numerics_contract::scale_formula formula_;
    data_type dst_;
    bool has_global_, has_zero_points_, is_narrow_;
    read_function read_;   // scales of f16 and bf16
    write_function write_; // and of f8_e4m3; null: f32, f8_e8m0
};

} // namespace dynquant::kernels::native

// The formulas of the numerics contract in integer arithmetic. No floating-point instruction is used, so
// neither the processor's rounding nor its flags can make the oracle and a kernel wrong alike, and
// nothing is shared with the library but the statement.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "dynquant/quantization.hpp"

namespace dynquant::test::oracle {

/// clamp(RNE(f32(f32(x / s) + f32(zp)))) in [lowest, highest]; NaN gives lowest.
std::int64_t quantize(float x, float s, std::int64_t zp, std::int64_t lowest, std::int64_t highest);

/// f32(f32(q - zp) * s).
float dequantize(std::int64_t q, float s, std::int64_t zp);

/// clamp(RNE(f)) in [lowest, highest]; NaN gives lowest. f = f32(f32(sum + bias) * scale), the sum wrapping; then
/// f = f32(f * second_scale), if there is one; with relu negative f are 0.
struct requantization {
    float scale = 1;
    std::optional<float> second_scale = {};
    std::int64_t bias = 0;
    bool relu = false;
};
std::int64_t requantize(std::int64_t sum, const requantization &by, std::int64_t lowest, std::int64_t highest);

/// Whether `given` is allowed for x under fpmath mode `any`: strict's result, or inside the guard that of
/// x * (1 / s) + zp with the sum rounded after the product or both at once.
bool allows_any(std::int64_t given, float x, float s, std::int64_t zp, std::int64_t lowest, std::int64_t highest);

/// Single operations, rounded to nearest even.
float divide(float a, float b);
float multiply(float a, float b);
float add(float a, float b);
float from_integer(std::int64_t value);

/// The buffers of a statement, as bytes. Values that the statement knows are left out.
struct inputs {
    std::vector<std::byte> src, scales, zero_points, second_scales = {}, bias = {};
};

/// What is wrong with `given`, a dst that run() would have made `expected`: an element (where any NaN
/// equals any NaN, and fpmath mode `any` is a rule) or a byte between elements. Empty when all is right.
std::string disagreement(const quantization &q, const inputs &in, const std::vector<std::byte> &expected,
        const std::vector<std::byte> &given);

/// dst, of which the bytes between elements are those of `before`.
std::vector<std::byte> run(const quantization &q, const inputs &in, std::vector<std::byte> before);

} // namespace dynquant::test::oracle

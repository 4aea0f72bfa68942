// The oracle: the formulas of the numerics contract in integer arithmetic. It uses no floating-point instruction, so
// the processor's rounding mode and flags cannot make the oracle and a kernel wrong in the same way. It shares nothing
// with the library except the statement.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "dynquant/quantization.hpp"

namespace dynquant::test::oracle {

/// clamp(RNE(f32(f32(x / s) + f32(zp)))) in [lowest, highest]; NaN gives lowest.
std::int64_t quantize(float x, float s, std::int64_t zp, std::int64_t lowest, std::int64_t highest);

/// f32(f32(q - zp) * s).
float dequantize(std::int64_t q, float s, std::int64_t zp);

/// Whether `given` is allowed for x under fpmath mode `any`. Allowed are strict's result and, inside the guard, that of
/// x * (1 / s) + zp, where the product is rounded before the sum or not at all (fused).
bool allows_any(std::int64_t given, float x, float s, std::int64_t zp, std::int64_t lowest, std::int64_t highest);

/// Single operations, rounded to nearest even.
float divide(float a, float b);
float multiply(float a, float b);
float add(float a, float b);
float from_integer(std::int64_t value);

/// The input buffers of a statement, as bytes. Buffers of known values are empty.
struct inputs {
    std::vector<std::byte> src, scales, zero_points, second_scales = {};
};

/// Describes the first error in the dst `given`, where run() gives `expected`: a wrong element or a changed byte
/// between elements. Empty if there is none. Any NaN equals any NaN, and fpmath mode `any` allows the results of its
/// rule.
std::string disagreement(const quantization &q, const inputs &in, const std::vector<std::byte> &expected,
        const std::vector<std::byte> &given);

/// Computes dst. The bytes between elements are those of `before`.
std::vector<std::byte> run(const quantization &q, const inputs &in, std::vector<std::byte> before);

/// The buffers that a statement with computed scales writes.
struct outputs {
    std::vector<std::byte> dst, scales, zero_points;
};
/// As run(). A byte that the last parameter does not fill keeps its other bits from `unused`.
outputs run_computed(const quantization &q, const inputs &in, std::vector<std::byte> before, std::byte unused);

/// Describes the first computed parameter that is wrong. Empty if there is none. Any NaN equals any NaN.
std::string wrong_parameter(const std::string &name, data_type type, const std::vector<std::byte> &expected,
        const std::vector<std::byte> &given);

} // namespace dynquant::test::oracle

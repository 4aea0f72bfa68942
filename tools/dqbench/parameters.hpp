// Draws scales and zero points. They depend on the case alone, so that __REPRO reproduces them.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "test_case.hpp"

namespace dqbench {

struct parameters {
    std::vector<float> scales;
    std::vector<std::int32_t> zero_points; // empty: none
};

/// Draws `count` scales and zero points; scales are rounded to their type.
/// - usual: scales in [2^-8, 2), zero points in the integer type's range; of wide types in [-256, 512].
/// - pow2: as usual, with scales that are powers of two.
/// - wild: every fourth scale as usual, the others negative, zero, subnormal, huge, infinite or NaN; zero points up to
///   the ends of their type.
/// - nvfp4: as usual, with scales by which those that nvfp4 computes are numbers of f8_e4m3 or ties between them.
/// `salt` varies the draw: otherwise all per-tensor cases would have one and the same scale.
parameters draw_parameters(
        parameter_kind kind, std::int64_t count, data_type scales, std::optional<data_type> zps, std::uint64_t salt);

/// Replace drawn values by given ones, repeated cyclically; an empty list replaces nothing. Scales are rounded to their
/// type.
void replace_scales(parameters &p, const std::vector<float> &given, data_type type);
void replace_zero_points(parameters &p, const std::vector<std::int32_t> &given);

/// Hashes a number to 64 bits: SplitMix64 (Steele, Lea and Flood, "Fast splittable pseudorandom number generators",
/// 2014).
constexpr std::uint64_t mix(std::uint64_t x) {
    x += 0x9e3779b97f4a7c15;
    x = (x ^ (x >> 30)) * 0xbf58476d1ce4e5b9;
    x = (x ^ (x >> 27)) * 0x94d049bb133111eb;
    return x ^ (x >> 31);
}

} // namespace dqbench

// Scales and zero points of a case: drawn from the case alone, so that __REPRO finds the same.
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

/// usual: scales in [2^-8, 2), zero points within the integer type and, as s32, somewhat beyond;
/// pow2: the same, but scales are powers of two; wild: every fourth as usual, the others negative,
/// zero, subnormal, huge, infinite or NaN, and zero points up to the ends of their type.
/// `salt` tells per-tensor cases apart, so that they do not all draw the same.
/// Scales are numbers of their type.
parameters draw_parameters(
        parameter_kind kind, std::int64_t count, data_type scales, std::optional<data_type> zps, std::uint64_t salt);

/// Given values instead of drawn ones, again and again; none replace none. Scales become numbers of their type.
void replace_scales(parameters &p, const std::vector<float> &given, data_type type);
void replace_zero_points(parameters &p, const std::vector<std::int32_t> &given);

/// A well-mixed word for each number (SplitMix64, Steele, Lea and Flood, 2014).
constexpr std::uint64_t mix(std::uint64_t x) {
    x += 0x9e3779b97f4a7c15;
    x = (x ^ (x >> 30)) * 0xbf58476d1ce4e5b9;
    x = (x ^ (x >> 27)) * 0x94d049bb133111eb;
    return x ^ (x >> 31);
}

} // namespace dqbench

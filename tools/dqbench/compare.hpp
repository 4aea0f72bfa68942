// Compares a result with the reference kernel's.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "guarded_buffer.hpp"
#include "statement.hpp"

namespace dqbench {

/// What may differ from the reference.
struct tolerance {
    /// fpmath mode any: results may differ by 1 next to a tie, if scale and zero point are moderate (is_moderate).
    bool any = false;
    /// The onednn kernel under fpmath mode any: oneDNN's result of a NaN is accepted, and any result if a scale or zero
    /// point is not moderate, since dynamic ones are not known at compile.
    bool as_onednn = false;
};

/// A computed dst and its layout.
struct computed {
    const guarded_buffer &memory;
    dynquant::dims strides;
};

struct comparison {
    std::int64_t differing = 0;
    std::vector<std::string> first; // the first few differences: index, src, scale, zp, expected, got
    std::int64_t informative = 0;   // results that are neither saturated nor NaN nor zero
};

/// `expected` is dense and row-major.
comparison compare(const statement &s, const parameters &p, const void *src, const void *expected, const computed &got,
        const tolerance &allowed);

/// Compares computed scales and zero points. Positions are numbers of parameters.
comparison compare_parameters(const statement &s, const parameters &expected, const guarded_buffer &scales,
        const guarded_buffer &zero_points);

/// Describes a byte that was written though no element of dst is there; nothing if there is none.
std::optional<std::string> stray_write(const statement &s, const computed &got);

/// Whether fpmath mode any may give `got` for x / scale + zero_point, where strict gives `expected`.
bool any_allows(float x, float scale, std::int32_t zero_point, int expected, int got);

} // namespace dqbench

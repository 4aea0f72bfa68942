// Correctness: a result against the reference kernel's.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "guarded_buffer.hpp"
#include "statement.hpp"

namespace dqbench {

/// What may differ from the reference.
struct tolerance {
    /// fpmath mode any: by 1 next to a tie, where scale and zero point are moderate.
    bool any = false;
    /// The onednn kernel under fpmath mode any: a NaN becomes what oneDNN makes of it, and so does
    /// everything where a scale or zero point that it could not know at compile is not moderate.
    bool as_onednn = false;
};

/// A dst that was computed.
struct computed {
    const guarded_buffer &memory;
    dynquant::dims strides;
};

struct comparison {
    std::int64_t differing = 0;
    std::vector<std::string> first; // the first few of them: index, src, scale, zp, expected, got
    std::int64_t informative = 0;   // results that are neither saturated nor NaN nor zero
};

/// `expected` is dense and row-major.
comparison compare(const statement &s, const parameters &p, const void *src, const void *expected, const computed &got,
        const tolerance &allowed);

/// Where a byte was written that is no element of dst; nothing when none was.
std::optional<std::string> stray_write(const statement &s, const computed &got);

/// Whether fpmath mode any may give `got` for the quotient, `expected` being strict's result.
bool any_allows(float x, float scale, std::int32_t zero_point, int expected, int got);

} // namespace dqbench

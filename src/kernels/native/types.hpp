// Element types and formats as code of one instruction set sees them: plain types only (see
// quantization/canonical.hpp).
#pragma once

#include <cstdint>

namespace dynquant::kernels::native {

/// f16 and bf16 as they lie in memory.
struct half {
    std::uint16_t bits;
};
struct brain {
    std::uint16_t bits;
};

/// How numbers from one power of two to the next are rounded to a float type of 8 bits and fewer: by adding a float,
/// the unit, whose last bit is worth as much as the type's. That sum as an integer, less a base, is the code.
struct narrow_units {
    float least_normal, to_unit;  // from a power of two, at least this one, to the unit
    std::int32_t dropped, offset; // bits of the fraction; the base is unit - (unit >> dropped) + offset
    float unit[32];               // of the power whose exponent ends in these five bits
    std::int32_t base[32];
};

/// How magnitudes and signs become codes of such a type.
struct narrow_format {
    float bound; // what lies beyond becomes this
    const narrow_units *units;
    std::uint8_t nan;     // what codes beyond 8 bits become
    std::int8_t signless; // codes up to this one have no sign, as bytes with one, nor those beyond 8 bits
    int sign_shift;       // from the highest bit of a byte
};

} // namespace dynquant::kernels::native

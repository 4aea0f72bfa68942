// Vectors of any number and width, for loops that need no more than operators: compilers make one instruction of an
// operator where the instruction set has it, and several where it has not. See simd.hpp for all else.
#pragma once

#include <cstdint>
#include <cstring>

namespace dynquant::simd {
namespace {

/// `bytes` bytes of Number. g++ 12 takes dependent sizes of vectors for dependent elements only.
template <typename Number, int bytes>
struct lanes_of {
    using vector [[gnu::vector_size(bytes)]] = Number;
    static constexpr std::int64_t lanes = bytes / static_cast<int>(sizeof(Number));

    [[gnu::always_inline]] static vector splat(Number x) { return vector {} + x; }
    [[gnu::always_inline]] static vector load(const void *p) {
        vector v;
        std::memcpy(&v, p, sizeof v);
        return v;
    }
    [[gnu::always_inline]] static void store(void *p, const vector &v) { std::memcpy(p, &v, sizeof v); }
    [[gnu::always_inline]] static vector max(vector a, vector b) { return a > b ? a : b; }
    /// v in a register: else compilers load it, or make a constant, for each use.
    [[gnu::always_inline]] static vector in_register(vector v) {
#if defined(__x86_64__)
        asm("" : "+x"(v));
#elif defined(__aarch64__)
        asm("" : "+w"(v));
#endif
        return v;
    }
    /// The same bits.
    template <typename Other>
    [[gnu::always_inline]] static vector as(Other v) {
        return reinterpret_cast<vector>(v);
    }
};

} // namespace
} // namespace dynquant::simd

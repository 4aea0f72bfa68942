// What u8 becomes before V::dot(), which may take s8 alone.
#pragma once

#include "targets/simd.hpp"

namespace dynquant::simd {
namespace {

/// u8 as V::dot() takes it: as s8, 128 less, where dot_is_signed.
template <typename V>
[[gnu::always_inline]] inline typename V::integers as_read(typename V::integers bytes) {
    if constexpr (V::dot_is_signed)
        return V::bit_xor(bytes, V::splat_bytes(-128));
    else
        return bytes;
}

} // namespace
} // namespace dynquant::simd

// Copies vectors V of targets/simd.hpp, in the loop of look-ups.
#pragma once

#include "layers/lookup/isa/look_up_by.hpp"
#include "limit.hpp"
#include "targets/simd.hpp"

namespace lookup_speed {
namespace {

template <typename V>
struct vector_copy {
    static constexpr std::int64_t width = 4 * V::lanes;
    explicit vector_copy(const dynquant::lookup::table &) {}
    static auto look_up(const std::uint8_t *src) { return V::load_bits(src); }
    static void store(std::uint8_t *dst, typename V::integers v) { V::store(dst, v); }
};

} // namespace
} // namespace lookup_speed

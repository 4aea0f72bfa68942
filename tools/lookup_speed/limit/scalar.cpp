#include "limit.hpp"

namespace lookup_speed {
namespace {

void copy_each(const dynquant::lookup::table &, const std::uint8_t *src, std::uint8_t *dst, std::int64_t count) {
    volatile std::uint8_t *to = dst; // keeps the compiler from vectorizing
    for (std::int64_t i = 0; i < count; ++i)
        to[i] = src[i];
}

} // namespace

constinit const dynquant::lookup::look_up_function scalar_copy = copy_each;

} // namespace lookup_speed

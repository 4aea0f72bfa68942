#include "layers/narrow_floats/narrow_floats.hpp"

#include "parallel/parallel.hpp"

namespace dynquant::layers {
namespace {

constexpr std::int64_t narrow_bytes = 2;

} // namespace

void widen_floats(data_type type, const std::byte *from, std::int64_t count, float *to, targets::features available) {
    const auto &loops = *targets::pick(available, narrow_floats_table);
    const auto widen = type == data_type::f16 ? loops.widen_f16 : loops.widen_bf16;
    parallel::for_each_part(count, parallel::parts_for(count, 0), [=](parallel::range part) {
        widen(from + part.begin * narrow_bytes, part.end - part.begin, to + part.begin);
    });
}

void narrow_floats(data_type type, const float *from, std::int64_t count, std::byte *to, targets::features available) {
    const auto &loops = *targets::pick(available, narrow_floats_table);
    const auto narrow = type == data_type::f16 ? loops.narrow_f16 : loops.narrow_bf16;
    parallel::for_each_part(count, parallel::parts_for(count, 0), [=](parallel::range part) {
        narrow(from + part.begin, part.end - part.begin, to + part.begin * narrow_bytes);
    });
}

} // namespace dynquant::layers

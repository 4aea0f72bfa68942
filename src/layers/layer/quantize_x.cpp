#include "layers/layer/quantize_x.hpp"

#include <algorithm>
#include <cstring>

#include "quantization/shape.hpp"
#include "targets/sixteen_bytes.hpp"

namespace dynquant::layers {
namespace {

/// The part of x that has one scale: its last dimensions, those whose extents are one row.
dims block_of(const dims &x, std::int64_t rows) {
    auto block = x;
    for (std::size_t d = 0; d < x.size() && rows > 1; ++d) {
        block[d] = 1;
        rows /= x[d];
    }
    return block;
}

/// std::copy_n copies one by one, without -O3.
void widen(const std::uint8_t *from, std::size_t count, std::int32_t *to) {
    std::size_t i = 0;
    for (; i + 16 <= count; i += 16) {
        simd::sixteen_bytes x[4] = {}; // the bytes of integers, the lowest first
        std::memcpy(x, from + i, sizeof *x);
        simd::interleave(x);
        std::memcpy(to + i, x, sizeof x);
    }
    std::copy(from + i, from + count, to + i);
}

} // namespace

x_quantizer::x_quantizer(
        prepare_function prepare, const dims &x, std::int64_t rows, const dims &strides, const dims &x_strides)
    : elements_(*volume(x))
    , rows_(rows) {
    quantization q;
    q.src = {data_type::f32, x, x_strides};
    q.dst = {data_type::u8, x, strides};
    q.scales = {data_type::f32, block_of(x, rows), {}};
    q.zero_points = {data_type::u8, q.scales.block, {}};
    q.rule = numerics::onnx;
    q.computed = presets::onnx(); // DynamicQuantizeLinear
    quantize_ = prepare(q);
}

void x_quantizer::run(const void *x, quantized_x &to) const {
    const auto count = static_cast<std::size_t>(rows_);
    auto *const scales = workspace::ensure_size(to.scales, count);
    auto *const zero_points = workspace::ensure_size(to.zero_points, count);
    if (elements_ == 0) { // then a run writes nothing
        std::fill_n(scales, count, static_cast<float>(presets::onnx().of_zero));
        std::fill_n(zero_points, count, 0);
        return;
    }
    auto *const computed = workspace::ensure_size(to.computed, count);
    arguments args;
    args.src = x;
    args.dst = workspace::ensure_size(to.bytes, static_cast<std::size_t>(elements_));
    args.computed_scales = scales;
    args.computed_zero_points = computed;
    quantize_.run(args);
    widen(computed, count, zero_points);
}

} // namespace dynquant::layers

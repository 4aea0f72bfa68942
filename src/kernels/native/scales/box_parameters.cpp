#include "kernels/native/scales/box_parameters.hpp"

#include <algorithm>
#include <bit>
#include <cstring>

namespace dynquant::kernels::native {

parameter_formulas::parameter_formulas(const quantization &q, const kernel_loops &loops)
    : formula_(q)
    , loops_(loops)
    , src_(q.src.type)
    , dst_(q.dst.type)
    , has_global_(q.second_scales.has_value())
    , has_zero_points_(q.zero_points.has_value()) {
    // f16 overflows to infinity, f8_e4m3 saturates.
    const bool saturates = q.scales.type == data_type::f8_e4m3;
    write_ = (saturates ? loops.code.write_saturated : loops.code.write)[q.scales.type];
}

namespace {

/// `count` and what is missing to whole vectors, of 16 lanes at most.
std::int64_t in_vectors(std::int64_t count) {
    return round_up(count, 16);
}

} // namespace

void parameter_formulas::make_empty(std::int64_t count, std::uint32_t *low, std::uint32_t *high) const {
    count = in_vectors(count);
    if (traits(src_).bits == 32)
        std::fill_n(low, count, lowest_bits);
    else
        std::fill_n(low, ceil_div(count, 2), lowest_bits | lowest_bits >> 16);
    std::memset(high, 0, static_cast<std::size_t>(count) * sizeof(*high));
}

void parameter_formulas::widen(std::int64_t count, std::uint32_t *low, std::uint32_t *high) const {
    if (src_ == data_type::f32) return;
    count = in_vectors(count);
    std::uint16_t bits[box_capacity + widest_step];
    for (auto *const bounds : {low, high}) {
        std::memcpy(bits, bounds, static_cast<std::size_t>(count) * sizeof(bits[0]));
        if (src_ == data_type::f16)
            loops_.code.read[src_](bits, 0, count, bounds);
        else // not by the codec: loading a vector just after storing a part of it stalls
            for (std::int64_t i = 0; i < count; ++i)
                bounds[i] = static_cast<std::uint32_t>(bits[i]) << 16;
    }
}

bool parameter_formulas::has_nonfinite(std::int64_t count, const std::uint32_t *low, const std::uint32_t *high) {
    std::uint32_t any = 0; // the highest bit: of one that is at least infinity
    for (std::int64_t i = 0; i < count; ++i)
        any |= ((low[i] & ~lowest_bits) + (lowest_bits - infinity_bits)) | (high[i] + (lowest_bits - infinity_bits));
    return (any & lowest_bits) != 0;
}

found_parameters parameter_formulas::compute(const arguments &args, std::int64_t first, computed_parameters &p) const {
    alignas(64) float scale[box_capacity + widest_step];
    p.scale = scale;
    if (has_global_) std::memcpy(&p.global, args.second_scales, sizeof p.global);
    const auto found = loops_.find_parameters(formula_, p);
    write_scales(p, args.computed_scales, first);
    if (p.zero_point) write_zero_points(p.zero_point, p.count, args.computed_zero_points, first);
    return found;
}

bool parameter_formulas::compute(const arguments &args, std::int64_t first, std::int64_t count,
        const ranges<box_capacity> &r, box_parameters &p) const {
    std::int32_t zero_point[box_capacity + widest_step];
    computed_parameters all = {.count = count,
            .low = reinterpret_cast<const float *>(r.low),
            .high = reinterpret_cast<const float *>(r.high),
            .limit = p.limit,
            .factor = p.factor};
    if (has_zero_points_) all.zero_point = zero_point;
    const auto found = compute(args, first, all);
    if (has_zero_points_) write_zero_points(zero_point, count, p.zero_points, 0);
    return found.are_regular;
}

found_parameters parameter_formulas::compute(const arguments &args, std::int64_t first, std::int64_t count,
        const ranges<group_capacity> &r, group_arrays &p) const {
    computed_parameters all = {.count = count,
            .low = reinterpret_cast<const float *>(r.low),
            .high = reinterpret_cast<const float *>(r.high),
            .multiplier = p.multiplier,
            .residual = p.residual};
    if (has_zero_points_) all.zero_point = p.zero_point;
    return compute(args, first, all);
}

void parameter_formulas::write_scales(const computed_parameters &p, void *scales, std::int64_t first) const {
    if (formula_.scale_type == data_type::f32) {
        std::memcpy(static_cast<std::byte *>(scales) + first * 4, p.scale, static_cast<std::size_t>(p.count) * 4);
    } else if (formula_.scale_type == data_type::f8_e8m0) { // codes are exponents
        auto *const codes = static_cast<std::uint8_t *>(scales) + first;
        const auto *const scale = p.scale; // a copy: stores of bytes cannot alias it
        for (std::int64_t i = 0, count = p.count; i < count; ++i)
            codes[i] = static_cast<std::uint8_t>(std::bit_cast<std::uint32_t>(scale[i]) >> 23);
    } else {
        write_(p.scale, p.count, scales, first, false);
    }
}

void parameter_formulas::write_zero_points(
        const std::int32_t *zero_point, std::int64_t count, void *to, std::int64_t first) const {
    std::uint8_t bytes[box_capacity + 2 * widest_step];
    auto *const put = traits(dst_).bits == 8 ? static_cast<std::uint8_t *>(to) + first : bytes;
    for (std::int64_t i = 0; i < count; ++i)
        put[i] = static_cast<std::uint8_t>(zero_point[i]);
    if (put == bytes) loops_.code.write[dst_](bytes, count, to, first, false);
}

} // namespace dynquant::kernels::native

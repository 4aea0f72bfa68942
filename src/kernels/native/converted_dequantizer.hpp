// Dequantizing a stretch to reals of any type.
#pragma once

#include <cstdint>

#include "kernels/native/converted_stretch.hpp"
#include "kernels/native/operators.hpp"
#include "kernels/native/small_floats.hpp"

namespace dynquant::kernels::native {
namespace {

/// A dense run under one formula, straight to dst: no buffer between.
template <typename V, bool Streaming, typename Formula, typename Element, typename T>
void dequantize_straight(const Formula &formula, const Element *src, T *dst, std::int64_t count) {
    constexpr std::int64_t n = V::lanes;
    const auto partial = [&](std::int64_t i, std::int64_t end) {
        T rest[n];
        V::store(rest, formula(load_partial<V>(src + i, end - i)));
        std::memcpy(dst + i, rest, static_cast<std::size_t>(least(n, end - i)) * sizeof(T));
    };
    std::int64_t i = 0;
    if constexpr (Streaming) {
        const auto head = unaligned_head<line_of<T>>(dst, count);
        for (; i < head; i += n)
            partial(i, head);
        i = head;
    }
    for (; i + 2 * n <= count; i += 2 * n) {
        const auto a = formula(load<V>(src + i)), b = formula(load<V>(src + i + n));
        if constexpr (Streaming)
            V::stream(dst + i, a, b);
        else
            V::store(dst + i, a, b);
    }
    for (; i < count; i += n)
        partial(i, count);
}

/// Groups of whole lines of every type.
constexpr std::int64_t smallest_group = 32;

/// What the sixteen elements of 4 bits stand for.
constexpr std::int32_t u4_values[] = {0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15};
constexpr std::int32_t s4_values[] = {0, 1, 2, 3, 4, 5, 6, 7, -8, -7, -6, -5, -4, -3, -2, -1};
constexpr float f4_values[] = {0, 0.5F, 1, 1.5F, 2, 3, 4, 6, -0.0F, -0.5F, -1, -1.5F, -2, -3, -4, -6};

template <typename V, std::int64_t Capacity = table_capacity>
class converted_dequantizer : public converted_stretch<V, Capacity> {
    using stretch_of_row = converted_stretch<V, Capacity>;

  public:
    using stretch_of_row::base;
    using stretch_of_row::part;
    using stretch_of_row::stretch_of_row;

    /// Rows as lines of bytes from column `begin` on, where src has been turned; how far apart they are in dst, and
    /// their parameters in the table.
    struct turned_rows {
        const unsigned char *line = nullptr;
        std::int64_t line_stride = 0, begin = 0, count = 1, dst_stride = 0, parameter_stride = 0;
    } turned;

    /// Whether a part needs no buffers, and so may have any length.
    bool in_place() const { return along.src_stride == 1 && along.dst_stride == 1 && packed().bits == 8; }

    /// All that the formulas need: without divisions a short run is cheap.
    void prepare(const parameter_run &run) {
        if (table.holds == run) return;
        fetch_run(table, c, run);
        finish(run.period > 0 ? run.period : run.count, run.count);
        table.holds = run;
    }
    void prepare(const parameter_block &block) {
        table.holds = {0, 0, -1};
        fetch(table, c, block, 0);
        const auto count = block.rows * block.count;
        finish(count, count);
    }

    void compute_part(const placed &from, const placed &to) {
        switch (c.dst_type) {
            case data_type::f16: return compute_to(static_cast<half *>(c.dst), from, to);
            case data_type::bf16: return compute_to(static_cast<brain *>(c.dst), from, to);
            case data_type::f32:
            case data_type::s32:
            case data_type::s8:
            case data_type::u8:
            case data_type::s4:
            case data_type::u4:
            case data_type::f8_e4m3:
            case data_type::f8_e5m2:
            case data_type::s16:
            case data_type::u16:
            case data_type::u32:
            case data_type::s2:
            case data_type::u2:
            case data_type::f4_e2m1:
            case data_type::f6_e2m3:
            case data_type::f6_e3m2:
            case data_type::f8_e4m3fnuz:
            case data_type::f8_e5m2fnuz:
            case data_type::f8_e8m0: return compute_to(static_cast<float *>(c.dst), from, to);
        }
    }

    /// How the elements of src are packed; of 8 bits where each has bytes of its own.
    packing packed() const {
        switch (c.src_type) {
            case data_type::s4: return {4, true};
            case data_type::u4:
            case data_type::f4_e2m1: return {4, false};
            case data_type::s2: return {2, true};
            case data_type::u2: return {2, false};
            case data_type::f32:
            case data_type::s32:
            case data_type::s8:
            case data_type::u8:
            case data_type::f16:
            case data_type::bf16:
            case data_type::f8_e4m3:
            case data_type::f8_e5m2:
            case data_type::s16:
            case data_type::u16:
            case data_type::u32:
            case data_type::f6_e2m3:
            case data_type::f6_e3m2:
            case data_type::f8_e4m3fnuz:
            case data_type::f8_e5m2fnuz:
            case data_type::f8_e8m0: break;
        }
        return {8, false};
    }

  private:
    using stretch_of_row::along;
    using stretch_of_row::c;
    using stretch_of_row::shape;
    using stretch_of_row::table;

    /// Which formulas the first `count` parameters take; what is read after all of them.
    void finish(std::int64_t count, std::int64_t all) {
        bounds zero_points;
        if (src_is_float()) {
            for (std::int64_t i = 0; i < count && c.zero_points.data; ++i)
                zero_points.include(bits_of(table.zero[i]));
            table.symmetric = !c.zero_points.data || zero_points.within(0, 0);
        } else {
            for (std::int64_t i = 0; i < count; ++i)
                zero_points.include(table.zero_point[i]);
            const bool wide = c.src_type == data_type::s32 || c.src_type == data_type::u32;
            table.narrow = wide ? zero_points.within(0, 0) : zero_points.within(INT32_MIN + 65536, INT32_MAX - 65536);
        }
        if (all > 1) pad(table, all);
    }

    bool src_is_float() const {
        switch (c.src_type) {
            case data_type::f16:
            case data_type::bf16:
            case data_type::f8_e4m3:
            case data_type::f8_e5m2:
            case data_type::f8_e4m3fnuz:
            case data_type::f8_e5m2fnuz:
            case data_type::f4_e2m1: return true;
            case data_type::f32:
            case data_type::s32:
            case data_type::s8:
            case data_type::u8:
            case data_type::s4:
            case data_type::u4:
            case data_type::s16:
            case data_type::u16:
            case data_type::u32:
            case data_type::s2:
            case data_type::u2:
            case data_type::f6_e2m3:
            case data_type::f6_e3m2:
            case data_type::f8_e8m0: break;
        }
        return false;
    }

    /// Dense results under one parameter, or in groups of whole lines, go straight to dst; others by way of f32.
    template <typename T>
    void compute_to(T *dst, const placed &from, const placed &to) {
        const bool in_lines = !c.streaming || begins_a_line(dst + to.first);
        const bool straight =
                to.stride == 1 && (this->shares_one_parameter() || (shape.repeat % smallest_group == 0 && in_lines));
        if constexpr (V::looked_up > 0)
            if (straight && in_lines && packed().bits == 4 && !turned.line && from.stride == 1 && from.first % 2 == 0)
                return look_up_part(static_cast<const unsigned char *>(c.src) + from.first / 2, dst + to.first);
        with_elements(from, [&](const auto *elements) {
            if (straight)
                return c.streaming ? compute_groups<true>(elements, dst + to.first)
                                   : compute_groups<false>(elements, dst + to.first);
            compute_any(elements, to);
        });
    }

    /// Calls f(elements) with the part's elements as neighbours, of their type in memory or as bytes.
    template <typename F>
    void with_elements(const placed &from, const F &f) {
        switch (c.src_type) {
            case data_type::u8: return f(bytes<std::uint8_t>(from));
            case data_type::s8: return f(bytes<std::int8_t>(from));
            case data_type::f8_e4m3: return f(bytes<float8_e4m3>(from));
            case data_type::f8_e5m2: return f(bytes<float8_e5m2>(from));
            case data_type::f8_e4m3fnuz: return f(bytes<float8_e4m3fnuz>(from));
            case data_type::f8_e5m2fnuz: return f(bytes<float8_e5m2fnuz>(from));
            case data_type::f4_e2m1: return f(bytes<float4_e2m1>(from));
            case data_type::s16: return f(gathered<std::int16_t>(from));
            case data_type::u16: return f(gathered<std::uint16_t>(from));
            case data_type::s32: return f(gathered<std::int32_t>(from));
            case data_type::u32: return f(gathered<std::uint32_t>(from));
            case data_type::f16: return f(gathered<half>(from));
            case data_type::bf16: return f(gathered<brain>(from));
            case data_type::f32:
            case data_type::s4:
            case data_type::u4:
            case data_type::s2:
            case data_type::u2:
            case data_type::f6_e2m3:
            case data_type::f6_e3m2:
            case data_type::f8_e8m0: return f(bytes<std::int8_t>(from)); // integers of 4 and 2 bits
        }
    }

    template <typename T>
    const T *gathered(const placed &from) {
        return gather(c.src, from, reinterpret_cast<T *>(copies_.column));
    }

    template <typename Byte>
    const Byte *bytes(const placed &from) {
        if (turned.line) return reinterpret_cast<const Byte *>(turned.line + (part.begin - turned.begin));
        if (packed().bits == 8) return gathered<Byte>(from);
        return reinterpret_cast<const Byte *>(packed_in_.read(c.src, from, packed()));
    }

    template <typename T>
    static bool begins_a_line(const T *dst) {
        return unaligned_head<line_of<T>>(dst, line_of<T>) == 0;
    }

    template <typename Element>
    void compute_any(const Element *elements, const placed &to) {
        const auto first = base;
        for (std::int64_t row = 0; row < turned.count; ++row, base += turned.parameter_stride)
            compute_row(elements + row * turned.line_stride, {to.first + row * turned.dst_stride, to.stride, to.count});
        base = first;
    }

    template <typename Element>
    void compute_row(const Element *elements, const placed &to) {
        using op = dequantizer<V, Element>;
        if (c.dst_type == data_type::f32 && to.stride == 1 && !c.streaming)
            return this->template compute<op, storing::cached>(elements, static_cast<float *>(c.dst) + to.first);
        this->template compute<op, storing::cached>(elements, products_.column);
        reals_out_.write(products_.column, c.dst_type, c.dst, to, c.streaming);
    }

    /// Calls f(parameter, first, count()) for each group of the part, or for all of it at once; `parameter` is the
    /// first one's.
    template <typename F>
    void for_each_group(std::int64_t parameter, const F &f) const {
        const auto size = this->shares_one_parameter() ? part.count : shape.repeat;
        std::int64_t i = 0;
        if (size == smallest_group) // often met, and too short for a loop
            for (; i + smallest_group <= part.count; i += smallest_group, ++parameter)
                f(parameter, i, [] { return smallest_group; });
        for (; i < part.count; i += size, ++parameter)
            f(parameter, i, [&] { return least(size, part.count - i); });
    }

    template <bool Streaming, typename Element, typename T>
    void compute_groups(const Element *src, T *dst) const {
        dequantizer<V, Element>::with_formula(table, [=, this](auto kind) {
            for (std::int64_t row = 0; row < turned.count; ++row) {
                const auto *const from = src + row * turned.line_stride;
                auto *const to = dst + row * turned.dst_stride;
                for_each_group(base + row * turned.parameter_stride,
                        [=, this](std::int64_t parameter, std::int64_t i, auto count) {
                            const auto formula = decltype(kind)::from(table, only<V> {parameter});
                            dequantize_straight<V, Streaming>(formula, from + i, to + i, count());
                        });
            }
        });
    }

    template <typename T>
    void look_up_part(const unsigned char *packed, T *dst) const {
        if (c.src_type == data_type::f4_e2m1) return look_up_groups<float4_e2m1>(f4_values, packed, dst);
        look_up_groups<std::int8_t>(c.src_type == data_type::s4 ? s4_values : u4_values, packed, dst);
    }

    /// 4-bit elements by a table for each group; they begin with a byte.
    template <typename Element, typename Value, typename T>
    void look_up_groups(const Value *values, const unsigned char *packed, T *dst) const {
        dequantizer<V, Element>::with_formula(table, [=, this](auto kind) {
            for_each_group(base, [=, this](std::int64_t parameter, std::int64_t begin, auto count) {
                const auto formula = decltype(kind)::from(table, only<V> {parameter});
                const auto results = V::table_of(dst, formula(V::load(values)));
                c.streaming ? look_up_run<true>(packed + begin / 2, results, dst + begin, count())
                            : look_up_run<false>(packed + begin / 2, results, dst + begin, count());
            });
        });
    }

    template <bool Streaming, typename Results, typename T>
    static void look_up_run(const unsigned char *packed, const Results &results, T *dst, std::int64_t count) {
        constexpr std::int64_t step = V::looked_up, page = 2048;
        std::int64_t i = 0;
        for (; i + step <= count; i += step) {
            __builtin_prefetch(packed + i / 2 + page);
            V::template look_up<Streaming>(packed + i / 2, results, dst + i);
        }
        if (i == count) return;
        unsigned char rest[step / 2] = {};
        alignas(64) T last[step];
        std::memcpy(rest, packed + i / 2, static_cast<std::size_t>((count - i + 1) / 2));
        V::template look_up<false>(rest, results, last);
        std::memcpy(dst + i, last, static_cast<std::size_t>(count - i) * sizeof(T));
    }

    column_buffer<std::int32_t, Capacity> copies_; // of the widest elements
    column_buffer<float, Capacity> products_;
    packed_reader<V, Capacity> packed_in_;
    real_writer<V, Capacity> reals_out_;
};

} // namespace
} // namespace dynquant::kernels::native

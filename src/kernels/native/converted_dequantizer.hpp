// Dequantizing a stretch to reals of any type.
#pragma once

#include <cstdint>

#include "kernels/native/converted_stretch.hpp"

namespace dynquant::kernels::native {
namespace {

/// From 8-bit floats by way of f32.
template <typename V>
struct float8_dequantizer {
    template <typename Run>
    static void with_formula(const parameter_table &, const Run &run) {
        run(multiplied<V> {});
    }
    template <typename Run>
    static void with_constant_formula(const parameter_table &t, std::int64_t, const Run &run) {
        with_formula(t, run);
    }
    template <storing, typename FormulaAt>
    static void run(const float *src, float *dst, std::int64_t count, std::int64_t, const FormulaAt &formula_at) {
        scale_run<V>(src, dst, count, formula_at);
    }
};

/// A dense run under one formula, straight to dst: no buffer between. dst begins at a cache line if it is streamed to.
template <typename V, bool Streaming, typename Formula, typename Integer, typename T>
void dequantize_straight(const Formula &formula, const Integer *src, T *dst, std::int64_t count) {
    constexpr std::int64_t n = V::lanes;
    std::int64_t i = 0;
    for (; i + 2 * n <= count; i += 2 * n) {
        const auto a = formula(V::load(src + i)), b = formula(V::load(src + i + n));
        if constexpr (Streaming)
            V::stream(dst + i, a, b);
        else
            V::store(dst + i, a, b);
    }
    for (; i < count; i += n) {
        T rest[n];
        V::store(rest, formula(V::load_partial(src + i, count - i)));
        std::memcpy(dst + i, rest, static_cast<std::size_t>(least(n, count - i)) * sizeof(T));
    }
}

/// Groups of whole lines of every type.
constexpr std::int64_t smallest_group = 32;

constexpr std::int32_t unsigned_nibbles[] = {0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15};
constexpr std::int32_t signed_nibbles[] = {0, 1, 2, 3, 4, 5, 6, 7, -8, -7, -6, -5, -4, -3, -2, -1};

template <typename V>
class converted_dequantizer : public converted_stretch<V> {
  public:
    using converted_stretch<V>::base;
    using converted_stretch<V>::part;

    explicit converted_dequantizer(const call &of)
        : converted_stretch<V>(of) {}

    /// A row's integers from column `begin` on, where src has been turned.
    struct turned_row {
        const unsigned char *line = nullptr;
        std::int64_t begin = 0;
    } turned;

    static constexpr bool in_place() { return false; }

    /// All that (q - zp) * s needs: without divisions a short run is cheap.
    void prepare(const parameter_run &run) {
        if (table.holds == run) return;
        if (run.period > 0) return native::prepare(table, c, run);
        prepare(parameter_block {run.first, run.stride, run.count});
        table.holds = run;
    }
    void prepare(const parameter_block &block) {
        table.holds = {0, 0, -1};
        fetch(table, c, block, 0);
        const auto count = block.rows * block.count;
        bounds zero_points;
        for (std::int64_t i = 0; i < count; ++i)
            zero_points.include(table.zero_point[i]);
        table.narrow = zero_points.within(INT32_MIN + 256, INT32_MAX - 256);
        if (count > 1) pad(table, count);
    }

    void compute_part(const placed &from, const placed &to) {
        if (goes_straight(to)) {
            if (c.dst_type == data_type::f16) return dequantize_to(static_cast<half *>(c.dst) + to.first, from);
            if (c.dst_type == data_type::bf16) return dequantize_to(static_cast<brain *>(c.dst) + to.first, from);
            return dequantize_to(static_cast<float *>(c.dst) + to.first, from);
        }
        switch (c.src_type) {
            case data_type::u8: dequantize<dequantizer<V, std::uint8_t>>(integers<std::uint8_t>(from)); break;
            case data_type::f8_e4m3: dequantize_float8<float8_e4m3>(from); break;
            case data_type::f8_e5m2: dequantize_float8<float8_e5m2>(from); break;
            default: dequantize<dequantizer<V, std::int8_t>>(integers<std::int8_t>(from)); // s8, s4 and u4
        }
        reals_out_.write(products_.column, c.dst_type, c.dst, to, c.streaming);
    }

    bool is_packed() const { return c.src_type == data_type::s4 || c.src_type == data_type::u4; }

  private:
    using converted_stretch<V>::along;
    using converted_stretch<V>::c;
    using converted_stretch<V>::shape;
    using converted_stretch<V>::table;

    template <typename Op, typename From>
    void dequantize(const From *from) {
        this->template compute<Op, storing::cached>(from, products_.column);
    }

    template <typename Float8>
    void dequantize_float8(const placed &from) {
        widen_float8<Float8>(gather(c.src, from, bytes_.column), part.count, reals_.column);
        dequantize<float8_dequantizer<V>>(reals_.column);
    }

    /// The part's integers as bytes.
    template <typename Integer>
    const Integer *integers(const placed &from) {
        if (turned.line) return reinterpret_cast<const Integer *>(turned.line + (part.begin - turned.begin));
        if constexpr (Integer(-1) < Integer(0))
            if (is_packed()) return nibbles_in_.read(c.src, from, c.src_type == data_type::s4);
        return gather(c.src, from, reinterpret_cast<Integer *>(bytes_.column));
    }

    /// Whether integers go straight to a dense dst: under one parameter, or in groups of whole lines.
    bool goes_straight(const placed &to) const {
        return to.stride == 1 && table.narrow && c.src_type != data_type::f8_e4m3 && c.src_type != data_type::f8_e5m2
                && (this->shares_one_parameter() || shape.repeat % smallest_group == 0)
                && (!c.streaming || begins_a_line(to.first));
    }

    bool begins_a_line(std::int64_t first) const {
        const auto line = c.dst_type == data_type::f32 ? line_of<float> : line_of<half>;
        return reinterpret_cast<std::uintptr_t>(c.dst) % 64 == 0 && first % line == 0;
    }

    template <typename T>
    void dequantize_to(T *dst, const placed &from) {
        c.streaming ? dequantize_to<true>(dst, from) : dequantize_to<false>(dst, from);
    }

    template <bool Streaming, typename T>
    void dequantize_to(T *dst, const placed &from) {
        if (c.src_type == data_type::u8) return dequantize_groups<Streaming>(integers<std::uint8_t>(from), dst);
        if constexpr (V::looked_up > 0)
            if (is_packed() && !turned.line && from.stride == 1 && from.first % 2 == 0)
                return look_up_groups<Streaming>(static_cast<const unsigned char *>(c.src) + from.first / 2, dst);
        dequantize_groups<Streaming>(integers<std::int8_t>(from), dst);
    }

    /// Calls f(parameter, first, count()) for each group of the part, or for all of it at once.
    template <typename F>
    void for_each_group(const F &f) const {
        const auto size = this->shares_one_parameter() ? part.count : shape.repeat;
        auto parameter = along.parameter_stride == 0 ? 0 : base;
        std::int64_t i = 0;
        if (size == smallest_group) // often met, and too short for a loop
            for (; i + smallest_group <= part.count; i += smallest_group, ++parameter)
                f(parameter, i, [] { return smallest_group; });
        for (; i < part.count; i += size, ++parameter)
            f(parameter, i, [&] { return least(size, part.count - i); });
    }

    template <bool Streaming, typename Integer, typename T>
    void dequantize_groups(const Integer *src, T *dst) const {
        for_each_group([=, this](std::int64_t parameter, std::int64_t i, auto count) {
            const auto formula = narrow_difference<V>::from(table, only<V> {parameter});
            dequantize_straight<V, Streaming>(formula, src + i, dst + i, count());
        });
    }

    /// 4-bit elements by a table for each group; they begin with a byte.
    template <bool Streaming, typename T>
    void look_up_groups(const unsigned char *packed, T *dst) const {
        constexpr std::int64_t step = V::looked_up, page = 2048;
        const auto *const nibbles = c.src_type == data_type::s4 ? signed_nibbles : unsigned_nibbles;
        for_each_group([=, this](std::int64_t parameter, std::int64_t begin, auto count) {
            const auto formula = narrow_difference<V>::from(table, only<V> {parameter});
            const auto values = V::table_of(dst, formula(V::load(nibbles)));
            const auto end = begin + count();
            std::int64_t i = begin;
            for (; i + step <= end; i += step) {
                __builtin_prefetch(packed + i / 2 + page);
                V::template look_up<Streaming>(packed + i / 2, values, dst + i);
            }
            if (i == end) return;
            unsigned char rest[step / 2] = {};
            alignas(64) T results[step];
            std::memcpy(rest, packed + i / 2, static_cast<std::size_t>((end - i + 1) / 2));
            V::template look_up<false>(rest, values, results);
            std::memcpy(dst + i, results, static_cast<std::size_t>(end - i) * sizeof(T));
        });
    }

    column_buffer<float> reals_, products_;
    column_buffer<unsigned char> bytes_;
    nibble_reader<V> nibbles_in_;
    real_writer<V> reals_out_;
};

} // namespace
} // namespace dynquant::kernels::native

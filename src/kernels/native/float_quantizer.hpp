// Quantizing a stretch of reals of any type to floats of 16 bits and fewer.
#pragma once

#include <cstdint>
#include <type_traits>

#include "kernels/native/converted_stretch.hpp"
#include "kernels/native/operators.hpp"
#include "kernels/native/small_floats.hpp"

namespace dynquant::kernels::native {
namespace {

/// x / s + zp to f32, divided in f32, f16 (half) or bf16 (brain). Two parts do for all scales, as either the division's
/// type or dst's has 11 bits at most.
template <typename V, typename Division>
struct float_quotient {
    template <typename Run>
    static void with_formula(const auto &t, const Run &run) {
        if constexpr (V::has_fma)
            if (t.inside_guard && with_limited_formula(t, run)) return;
        run(shifted_quotient<V, Division, divided<V, Division>> {});
    }
    template <typename Run>
    static void with_constant_formula(const auto &t, std::int64_t, const Run &run) {
        with_formula(t, run);
    }
    template <storing, typename Real, typename FormulaAt>
    static void run(const Real *src, float *dst, std::int64_t count, std::int64_t, const FormulaAt &formula_at) {
        scale_run<V>(src, dst, count, formula_at);
    }

  private:
    template <typename Zero>
    using limited = limited_quotient<V, Division, Zero>;

    /// Whether there is one. Beside zero points that are no signs only for quotients of f16, none of which is subnormal
    /// in f32.
    template <typename Run>
    static bool with_limited_formula(const auto &t, const Run &run) {
        if (t.symmetric)
            run(limited<no_zero<V>> {});
        else if (t.zeros_are_signs)
            run(limited<some_zero<V>> {});
        else if constexpr (std::is_same_v<Division, half>)
            run(shifted_quotient<V, Division, limited<no_zero<V>>> {});
        else
            return false;
        return true;
    }
};

/// The same to the codes of a float of 8 bits and fewer.
template <typename V, typename Division>
struct float_coder : float_quotient<V, Division> {
    narrow_format format;

    template <storing, typename Real, typename FormulaAt>
    void run(const Real *src, std::uint8_t *dst, std::int64_t count, std::int64_t lead,
            const FormulaAt &formula_at) const {
        narrow_run<V>(src, dst, count, lead, format, formula_at);
    }
};

template <typename V>
class float_quantizer : public converted_reals<V> {
  public:
    using converted_stretch<V>::part;

    explicit float_quantizer(const call &of)
        : converted_reals<V>(of)
        , format_(format_of(of.dst_type, of.saturate)) {
        if (V::has_fma) table.low_are = low_parts::used;
    }

    /// Whether a part needs no buffers, and so may have any length.
    bool in_place() const {
        return along.src_stride == 1 && reads_in_place() && along.dst_stride == 1 && is_byte() && !c.streaming;
    }

    void prepare(const parameter_run &run) {
        if (table.holds == run) return;
        table.holds = run;
        fetch_run(table, c, run);
        derive(run.count);
        if (run.count > 1) pad(table, run.count);
    }

    void compute_part(const placed &from, const placed &to) {
        switch (c.division) {
            case precision::f16: return quantize<half>(this->template src_as<half>(from), to);
            case precision::bf16: return quantize<brain>(this->template src_as<brain>(from), to);
            case precision::f32:
            case precision::f64: this->with_src(from, [&](const auto *x) { quantize<float>(x, to); });
        }
    }

  private:
    using converted_stretch<V>::along;
    using converted_stretch<V>::c;
    using converted_stretch<V>::table;

    static narrow_format format_of(data_type type, bool saturates) {
        switch (type) {
            case data_type::f8_e4m3: return narrow_format_of<float8_e4m3>(saturates);
            case data_type::f8_e5m2: return narrow_format_of<float8_e5m2>(saturates);
            case data_type::f8_e4m3fnuz: return narrow_format_of<float8_e4m3fnuz>(saturates);
            case data_type::f8_e5m2fnuz: return narrow_format_of<float8_e5m2fnuz>(saturates);
            case data_type::f4_e2m1: return narrow_format_of<float4_e2m1>(true);
            case data_type::f32:
            case data_type::s32:
            case data_type::s8:
            case data_type::u8:
            case data_type::f16:
            case data_type::bf16:
            case data_type::s4:
            case data_type::u4:
            case data_type::s16:
            case data_type::u16:
            case data_type::u32:
            case data_type::s2:
            case data_type::u2:
            case data_type::f6_e2m3:
            case data_type::f6_e3m2:
            case data_type::f8_e8m0: break; // reals have none
        }
        return {two_to_22, nullptr, 0, 0, 0};
    }

    bool is_real() const { return c.dst_type == data_type::f16 || c.dst_type == data_type::bf16; }
    bool is_byte() const { return !is_real() && c.dst_type != data_type::f4_e2m1; }

    bool reads_in_place() const {
        switch (c.division) {
            case precision::f16: return c.src_type == data_type::f16;
            case precision::bf16: return c.src_type == data_type::bf16;
            case precision::f32:
            case precision::f64: break;
        }
        return true;
    }

    /// That of those which nothing is added to. 65536 is infinite in f16, and 65504 rounds to it in codes.
    float limit_of_quotients() const {
        constexpr float highest_f16 = 65504;
        const bool overflows = c.division == precision::f16 && !is_real() && format_.bound > highest_f16;
        return overflows ? highest_f16 : format_.bound;
    }

    /// What the first `count` columns are computed by.
    void derive(std::int64_t count) {
        bounds scales, zeros;
        const bool has_zeros = c.zero_points.data != nullptr;
        for (std::int64_t i = 0; i < count; ++i) {
            if (!has_zeros) table.zero[i] = -0.0F; // which changes nothing
            scales.include(bits_of(table.scale[i]));
            zeros.include(bits_of(table.zero[i]) & INT32_MAX);
        }
        table.symmetric = !has_zeros;
        table.zeros_are_signs = zeros.within(0, 0) && (c.division == precision::f16 || scales.greatest < bits_of(2.0F));
        // Quotients beyond 2^22 are numbers of bf16, and infinite as f16.
        const bool is_limited = c.dst_type != data_type::bf16 || c.division == precision::f16;
        table.inside_guard = is_limited && are_inside_guard(scales);
        // Zero points may bring quotients back from beyond the bound.
        const float limit = table.symmetric || table.zeros_are_signs ? limit_of_quotients() : two_to_22;
        for (std::int64_t i = 0; i < count; ++i)
            derive_from_scale(table, i, limit);
        if (table.inside_guard) derive_low_parts(table, count);
    }

    template <typename Division, typename Real>
    void quantize(const Real *x, const placed &to) {
        if (is_real()) {
            this->template compute<float_quotient<V, Division>, storing::cached>(x, sums_.column);
            return write_reals(to, c.dst_type == data_type::f16 ? 65504 : 0x1.fep127F);
        }
        auto *const codes = to.stride == 1 && is_byte() && !c.streaming ? static_cast<std::uint8_t *>(c.dst) + to.first
                                                                        : codes_.column;
        this->template compute<float_coder<V, Division>, storing::cached>(x, codes, {{}, format_});
        if (codes == codes_.column) write_codes(to);
    }

    void write_reals(const placed &to, float highest) {
        if (c.saturate)
            for (std::int64_t i = 0; i < part.count; i += V::lanes) {
                const auto x = V::load(sums_.column + i);
                V::store(sums_.column + i, V::copy_sign(V::min(V::splat(highest), V::abs(x)), x));
            }
        reals_out_.write(sums_.column, c.dst_type, c.dst, to, c.streaming);
    }

    void write_codes(const placed &to) {
        if (!is_byte())
            packed_writer<V, 4, false>::write(reinterpret_cast<const std::int8_t *>(codes_.column), c.dst, to);
        else if (to.stride == 1)
            stream_bytes<V>(codes_.column, to.count, static_cast<std::uint8_t *>(c.dst) + to.first);
        else
            scatter(codes_.column, c.dst, to);
    }

    narrow_format format_;
    column_buffer<float> sums_;
    column_buffer<std::uint8_t> codes_;
    real_writer<V> reals_out_;
};

} // namespace
} // namespace dynquant::kernels::native

// Quantizing a stretch of reals of any type to floats of 16 bits and fewer, by way of f32.
#pragma once

#include <cstdint>
#include <type_traits>

#include "kernels/native/converted_stretch.hpp"

namespace dynquant::kernels::native {
namespace {

/// x / s + zp, divided in f32, f16 (half) or bf16 (brain).
template <typename V, typename Division>
struct float_quotient {
    /// Where zero points are added to corrected quotients: none of f16 is subnormal in f32.
    static constexpr bool corrects_all = std::is_same_v<Division, half>;

    template <typename Run>
    static void with_formula(const parameter_table &t, const Run &run) {
        const auto exact = divided<V> {};
        if constexpr (V::has_fma) {
            const auto corrected = corrected_scaled<V> {};
            if (t.inside_guard && t.symmetric) return without_zero(corrected, run);
            if constexpr (corrects_all)
                if (t.inside_guard) return with_zero(corrected, run);
        }
        t.symmetric ? without_zero(exact, run) : with_zero(exact, run);
    }
    template <typename Run>
    static void with_constant_formula(const parameter_table &t, std::int64_t, const Run &run) {
        with_formula(t, run);
    }
    template <storing, typename Real, typename FormulaAt>
    static void run(const Real *src, float *dst, std::int64_t count, std::int64_t, const FormulaAt &formula_at) {
        scale_run<V>(src, dst, count, formula_at);
    }

  private:
    template <typename Quotient, typename Run>
    static void without_zero(Quotient, const Run &run) {
        run(rounded_quotient<V, Division, Quotient> {});
    }
    template <typename Quotient, typename Run>
    static void with_zero(Quotient, const Run &run) {
        run(shifted_quotient<V, Division, Quotient> {});
    }
};

template <typename V>
class float_quantizer : public converted_reals<V> {
  public:
    using converted_stretch<V>::part;

    explicit float_quantizer(const call &of)
        : converted_reals<V>(of) {}

    static constexpr bool in_place() { return false; }

    void prepare(const parameter_run &run) {
        if (table.holds == run) return;
        if (!c.zero_points.data) {
            native::prepare(table, c, run);
        } else {
            fetch_run(table, c, run);
            derive_from_scales(table, run.count);
            if (run.count > 1) pad(table, run.count);
            table.holds = run;
        }
        // Quotients beyond 2^22 are numbers of bf16, and infinite as f16.
        if (c.dst_type == data_type::bf16 && c.division != precision::f16) table.inside_guard = false;
    }

    void compute_part(const placed &from, const placed &to) {
        switch (c.division) {
            case precision::f16: divide_in<half>(this->template src_as<half>(from)); break;
            case precision::bf16: divide_in<brain>(this->template src_as<brain>(from)); break;
            default: this->with_src(from, [&](const auto *x) { divide_in<float>(x); });
        }
        switch (c.dst_type) {
            case data_type::f16: return write_reals(to, 65504);
            case data_type::bf16: return write_reals(to, 0x1.fep127F);
            case data_type::f8_e4m3: return write_bytes<float8_e4m3>(to);
            case data_type::f8_e5m2: return write_bytes<float8_e5m2>(to);
            case data_type::f8_e4m3fnuz: return write_bytes<float8_e4m3fnuz>(to);
            case data_type::f8_e5m2fnuz: return write_bytes<float8_e5m2fnuz>(to);
            default: return write_f4(to);
        }
    }

  private:
    using converted_stretch<V>::c;
    using converted_stretch<V>::table;

    template <typename Division, typename Real>
    void divide_in(const Real *x) {
        this->template compute<float_quotient<V, Division>, storing::cached>(x, sums_.column);
    }

    void write_reals(const placed &to, float highest) {
        if (c.saturate)
            for (std::int64_t i = 0; i < part.count; i += V::lanes) {
                const auto x = V::load(sums_.column + i);
                V::store(sums_.column + i, V::copy_sign(V::min(V::splat(highest), V::abs(x)), x));
            }
        reals_out_.write(sums_.column, c.dst_type, c.dst, to, c.streaming);
    }

    template <typename Float>
    void write_bytes(const placed &to) {
        auto *const bytes = to.stride == 1 ? static_cast<std::uint8_t *>(c.dst) + to.first : bytes_.column;
        const bool streaming = c.streaming && to.stride == 1;
        if (c.saturate)
            narrow<V, Float, true>(sums_.column, part.count, bytes, streaming);
        else
            narrow<V, Float, false>(sums_.column, part.count, bytes, streaming);
        if (to.stride != 1) scatter(bytes, c.dst, to);
    }

    void write_f4(const placed &to) {
        narrow<V, float4_e2m1, true>(sums_.column, part.count, bytes_.column, false);
        packed_writer<V, 4, false>::write(reinterpret_cast<const std::int8_t *>(bytes_.column), c.dst, to);
    }

    column_buffer<float> sums_;
    column_buffer<std::uint8_t> bytes_;
    real_writer<V> reals_out_;
};

} // namespace
} // namespace dynquant::kernels::native

// Quantizing a stretch of reals of any type to floats of 16 bits and fewer, by way of f32.
#pragma once

#include <cstdint>

#include "kernels/native/converted_stretch.hpp"

namespace dynquant::kernels::native {
namespace {

/// x / s + zp
template <typename V>
struct float_quotient {
    template <typename Run>
    static void with_formula(const parameter_table &t, const Run &run) {
        if (!t.symmetric) return run(shifted_quotient<V> {});
        if constexpr (V::has_fma)
            if (t.inside_guard) return run(corrected_scaled<V> {});
        run(divided<V> {});
    }
    template <typename Run>
    static void with_constant_formula(const parameter_table &t, std::int64_t, const Run &run) {
        with_formula(t, run);
    }
    template <storing, typename Real, typename FormulaAt>
    static void run(const Real *src, float *dst, std::int64_t count, std::int64_t, const FormulaAt &formula_at) {
        scale_run<V>(src, dst, count, formula_at);
    }
};

template <typename V>
class float_quantizer : public converted_stretch<V> {
  public:
    using converted_stretch<V>::part;

    explicit float_quantizer(const call &of)
        : converted_stretch<V>(of) {}

    static constexpr bool in_place() { return false; }

    void prepare(const parameter_run &run) {
        if (table.holds == run) return;
        if (!c.zero_points.data) {
            native::prepare(table, c, run);
            // Quotients beyond 2^22 are numbers of bf16.
            if (c.dst_type == data_type::bf16) table.inside_guard = false;
            return;
        }
        fetch_run(table, c, run);
        if (run.count > 1) pad(table, run.count);
        table.symmetric = false;
        table.holds = run;
    }

    void compute_part(const placed &from, const placed &to) {
        switch (c.src_type) {
            case data_type::f16: divide(gather(c.src, from, reinterpret_cast<half *>(reals_.column))); break;
            case data_type::bf16: divide(gather(c.src, from, reinterpret_cast<brain *>(reals_.column))); break;
            default: divide(gather(c.src, from, reals_.column));
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

    template <typename Real>
    void divide(const Real *x) {
        this->template compute<float_quotient<V>, storing::cached>(x, sums_.column);
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

    column_buffer<float> reals_, sums_;
    column_buffer<std::uint8_t> bytes_;
    real_writer<V> reals_out_;
};

} // namespace
} // namespace dynquant::kernels::native

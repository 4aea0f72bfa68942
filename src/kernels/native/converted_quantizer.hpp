// Quantizing a stretch of reals of any type.
#pragma once

#include <cstdint>

#include "kernels/native/converted_stretch.hpp"

namespace dynquant::kernels::native {
namespace {

/// To 8-bit floats by way of f32.
template <typename V>
struct float8_quantizer {
    template <typename Run>
    static void with_formula(const parameter_table &t, const Run &run) {
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
class converted_quantizer : public converted_stretch<V> {
  public:
    using converted_stretch<V>::part;

    explicit converted_quantizer(const call &of)
        : converted_stretch<V>(of) {}

    /// Whether a part needs no buffers, and so may have any length.
    bool in_place() const {
        return along.src_stride == 1 && along.dst_stride == 1
                && (c.dst_type == data_type::u8 || c.dst_type == data_type::s8);
    }

    void prepare(const parameter_run &run) { native::prepare(this->table, c, run); }

    void compute_part(const placed &from, const placed &to) {
        switch (c.src_type) {
            case data_type::f16: return quantize(gather(c.src, from, halves_.column), to);
            case data_type::bf16: return quantize(gather(c.src, from, brains_.column), to);
            default: return quantize(gather(c.src, from, reals_.column), to);
        }
    }

  private:
    using converted_stretch<V>::along;
    using converted_stretch<V>::c;

    template <typename Real>
    void quantize(const Real *x, const placed &to) {
        switch (c.dst_type) {
            case data_type::u8: return quantize_to<std::uint8_t>(x, to);
            case data_type::s8: return quantize_to<std::int8_t>(x, to);
            case data_type::f8_e4m3: return quantize_to_float8<float8_e4m3>(x, to);
            case data_type::f8_e5m2: return quantize_to_float8<float8_e5m2>(x, to);
            default: break; // s4 and u4
        }
        auto *const bytes = reinterpret_cast<std::int8_t *>(bytes_.column);
        this->template compute<strict_quantizer<V, std::int8_t>, storing::cached>(x, bytes);
        nibble_writer<V>::write(bytes, c.dst, to, c.dst_type == data_type::s4);
    }

    template <typename Integer, typename Real>
    void quantize_to(const Real *x, const placed &to) {
        using op = strict_quantizer<V, Integer>;
        auto *const result = bytes<Integer>(to);
        if (to.stride != 1) {
            this->template compute<op, storing::cached>(x, result);
            scatter(result, c.dst, to);
        } else if (c.streaming) {
            this->template compute<op, storing::streaming>(x, result);
        } else {
            this->template compute<op, storing::cached>(x, result);
        }
    }

    template <typename Float8, typename Real>
    void quantize_to_float8(const Real *x, const placed &to) {
        this->template compute<float8_quantizer<V>, storing::cached>(x, quotients_.column);
        auto *const result = bytes<std::uint8_t>(to);
        narrow_float8<Float8>(quotients_.column, part.count, result);
        if (to.stride != 1) scatter(result, c.dst, to);
    }

    /// Where bytes are computed to: dst itself if they are neighbours there.
    template <typename Byte>
    Byte *bytes(const placed &to) {
        return to.stride == 1 ? static_cast<Byte *>(c.dst) + to.first : reinterpret_cast<Byte *>(bytes_.column);
    }

    column_buffer<float> reals_, quotients_;
    column_buffer<half> halves_;
    column_buffer<brain> brains_;
    column_buffer<unsigned char> bytes_;
};

} // namespace
} // namespace dynquant::kernels::native

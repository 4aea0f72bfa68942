// Rows of numerics::onnx to integers of all sizes, from and by reals of all sizes.
#pragma once

#include <cstdint>
#include <type_traits>

#include "kernels/native/converted.hpp"
#include "kernels/native/operators.hpp"

namespace dynquant::kernels::native {
namespace {

/// Divided in f32, f16 (half) or bf16 (brain).
template <typename V, typename Division>
class onnx_quantizer : public integer_quantizer<V> {
  public:
    explicit onnx_quantizer(const call &of)
        : integer_quantizer<V>(of, rule::low_parts_of_bytes) {}

    /// Whether a part needs no buffers, and so may have any length.
    bool in_place() const {
        const bool reads_in_place = (in_f32 && !this->has_32_bits()) || c.src_type == type_of<Division>;
        return along.src_stride == 1 && reads_in_place && this->writes_in_place();
    }

    void compute_part(const placed &from, const placed &to) {
        if constexpr (in_f32) {
            if (c.dst_type == data_type::s32) return quantize_to_wide<std::int32_t>(from, to);
            if (c.dst_type == data_type::u32) return quantize_to_wide<std::uint32_t>(from, to);
            this->with_src(from, [&](const auto *x) { quantize(x, to); });
        } else {
            quantize(this->template src_as<Division>(from), to);
        }
    }

  private:
    using converted_stretch<V>::along;
    using converted_stretch<V>::c;
    using rule = onnx_rule<V, Division>;
    static constexpr bool in_f32 = rule::in_f32;

    template <typename Real>
    void quantize(const Real *x, const placed &to) {
        switch (c.dst_type) {
            case data_type::u8: return this->template quantize_to<rule, std::uint8_t>(x, to);
            case data_type::s8: return this->template quantize_to<rule, std::int8_t>(x, to);
            case data_type::u16: return this->template quantize_to<rule, std::uint16_t>(x, to);
            case data_type::s16: return this->template quantize_to<rule, std::int16_t>(x, to);
            case data_type::f32:
            case data_type::s32:
            case data_type::f16:
            case data_type::bf16:
            case data_type::s4:
            case data_type::u4:
            case data_type::f8_e4m3:
            case data_type::f8_e5m2:
            case data_type::u32:
            case data_type::s2:
            case data_type::u2:
            case data_type::f4_e2m1:
            case data_type::f6_e2m3:
            case data_type::f6_e3m2:
            case data_type::f8_e4m3fnuz:
            case data_type::f8_e5m2fnuz:
            case data_type::f8_e8m0: return this->template quantize_to_packed<rule>(x, to); // of 4 and 2 bits
        }
    }

    template <typename Integer>
    void quantize_to_wide(const placed &from, const placed &to) {
        this->template quantize_to<onnx_wide_rule<V, Integer>, std::int32_t>(this->template src_as<float>(from), to);
    }
};

template <typename V, typename Division>
void onnx_divided_in(const call &c, const rectangle &r) {
    compute_converted<V, converted_rows<onnx_quantizer<V, Division>>>(c, r);
}

template <typename V>
constexpr onnx_row_functions onnx_rows_for() {
    return {onnx_divided_in<V, float>, onnx_divided_in<V, half>, onnx_divided_in<V, brain>};
}

} // namespace
} // namespace dynquant::kernels::native

#include "onnx.hpp"

#include <algorithm>

#include "elements.hpp"

namespace dynquant::test::oracle {
namespace {

constexpr exact::binary_format f32_format = {24, -149, 127};

exact::binary_format format_of(precision p) {
    switch (p) {
        case precision::f32: return f32_format;
        case precision::f16: return {11, -24, 15};
        case precision::bf16: return {8, -133, 127};
        case precision::f64: break;
    }
    return {53, -1074, 1023};
}

exact::number divided(const onnx_operands &of) {
    const auto format = format_of(of.division);
    const auto quotient = exact::quotient(exact::rounded(of.src, format), exact::rounded(of.scale, format));
    const bool by_way_of_f32 = of.division == precision::f16 || of.division == precision::bf16;
    return exact::rounded(by_way_of_f32 ? exact::rounded(quotient, f32_format) : quotient, format);
}

/// quotient + zero point
exact::number shifted(const exact::number &quotient, const onnx_operands &of) {
    if (!of.zero_point) return quotient;
    const auto format = format_of(of.division);
    return exact::rounded(exact::sum(quotient, exact::rounded(*of.zero_point, format)), format);
}

} // namespace

exact::number number_of_integer(std::int64_t value) {
    return {exact::number::kind::finite, exact::of_integer(value)};
}

exact::number number_from(data_type type, std::uint32_t bits) {
    return is_integer(type) ? number_of_integer(integer_from(type, bits)) : exact::number_of(real_from(type, bits));
}

std::uint32_t quantize_onnx(const onnx_operands &of, data_type dst, bool saturate) {
    const auto quotient = divided(of);
    if (!is_integer(dst)) return bits_of_number(dst, shifted(quotient, of), saturate);
    const auto [lowest, highest] = range_of(dst);
    if (quotient.is == exact::number::kind::nan) return static_cast<std::uint32_t>(lowest);
    const auto zp = of.zero_point ? exact::to_integer(*of.zero_point) : 0;
    return static_cast<std::uint32_t>(std::clamp(exact::to_integer(quotient) + zp, lowest, highest));
}

} // namespace dynquant::test::oracle

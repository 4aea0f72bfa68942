#include "kernels/native/support.hpp"

#include <utility>

#include "quantization/as_strict.hpp"
#include "quantization/data_type.hpp"
#include "quantization/text.hpp"

namespace dynquant::kernels::native {
namespace {

bool is_real(data_type type) {
    return (traits(type).places & place::real) != 0;
}

/// Whether microkernels or codecs convert it as the quantized side.
bool is_quantized(data_type type) {
    switch (type) {
        case data_type::s32:
        case data_type::u32:
        case data_type::s16:
        case data_type::u16:
        case data_type::s8:
        case data_type::u8:
        case data_type::s4:
        case data_type::u4:
        case data_type::s2:
        case data_type::u2:
        case data_type::f16:
        case data_type::bf16:
        case data_type::f8_e4m3:
        case data_type::f8_e5m2:
        case data_type::f8_e4m3fnuz:
        case data_type::f8_e5m2fnuz:
        case data_type::f4_e2m1: return true;
        case data_type::f32:
        case data_type::f6_e2m3:
        case data_type::f6_e3m2:
        case data_type::f8_e8m0: break;
    }
    return false;
}

std::optional<std::string> cannot_convert(const quantization &q) {
    const bool reads = q.dir == direction::dequantize;
    const auto type = reads ? q.src.type : q.dst.type;
    if (is_quantized(type)) return std::nullopt;
    return concat(reads ? "src" : "dst", ": expected data type of 2, 4, 8, 16 or 32 bits, given ", to_string(type));
}

std::optional<std::string> cannot_divide(const quantization &q) {
    switch (q.division) {
        case precision::f32:
        case precision::f16:
        case precision::bf16: return std::nullopt;
        case precision::f64: break;
    }
    return concat("division: expected f32, f16 or bf16, given ", to_string(q.division));
}

/// For integers under numerics::onnx, with or without zero points.
std::optional<std::string> cannot_quantize_to_integers(const quantization &q) {
    if (!is_real(q.src.type)) return concat("src: expected data type f32, f16 or bf16, given ", to_string(q.src.type));
    if (!is_real(q.scales.type))
        return concat("scales: expected data type f32, f16 or bf16, given ", to_string(q.scales.type));
    if (q.zero_points && q.zero_points->type != q.dst.type)
        return concat("zps: expected data type ", to_string(q.dst.type), ", that of dst, given ",
                to_string(q.zero_points->type));
    if (auto why = cannot_divide(q)) return why;
    if (traits(q.dst.type).bits == 32 && q.division != precision::f32)
        return concat("division: expected f32 for dst of 32 bits, given ", to_string(q.division));
    return std::nullopt;
}

/// Why the kernel cannot dequantize q, as the end of a sentence; or nothing.
std::optional<std::string> cannot_dequantize(const quantization &q) {
    const auto src = q.src.type, scales = q.scales.type;
    if (!is_real(scales)) return concat("scales: expected data type f32, f16 or bf16, given ", to_string(scales));
    if (src == data_type::u32 && q.zero_points && q.zero_points->type != src)
        return concat("zps: expected data type u32, that of src, given ", to_string(q.zero_points->type));
    return std::nullopt;
}

/// Why the kernel cannot quantize q to floats, as the end of a sentence; or nothing.
std::optional<std::string> cannot_quantize_to_floats(const quantization &q) {
    for (const auto &[name, type] : {std::pair("src", q.src.type), std::pair("scales", q.scales.type)})
        if (!is_real(type)) return concat(name, ": expected data type f32, f16 or bf16, given ", to_string(type));
    return cannot_divide(q);
}

} // namespace

bool rounds_before_zero_points(const quantization &q) {
    return q.rule == numerics::onnx && q.dir == direction::quantize && traits(q.dst.type).integral
            && differs_from_strict(q);
}

std::optional<std::string> unsupported(const quantization &q) {
    if (auto why = cannot_convert(q)) return why;
    switch (q.dir) {
        case direction::dequantize: return cannot_dequantize(q);
        case direction::quantize:
            if (!traits(q.dst.type).integral) return cannot_quantize_to_floats(q);
            return rounds_before_zero_points(q) ? cannot_quantize_to_integers(q) : differs_from_strict(q);
        case direction::requantize: break;
    }
    return differs_from_strict(q);
}

} // namespace dynquant::kernels::native

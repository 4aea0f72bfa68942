#include "kernels/native/support.hpp"

#include "elements/table.hpp"
#include "quantization/strict_equivalence.hpp"
#include "quantization/text.hpp"

namespace dynquant::kernels::native {
namespace {

bool is_real(data_type type) {
    return (traits(type).places & place::real) != 0;
}

std::optional<std::string> cannot_read_src(const quantization &q) {
    if (is_real(q.src.type)) return std::nullopt;
    return concat("src: expected data type f32, f16 or bf16, given ", to_string(q.src.type));
}

std::optional<std::string> cannot_read_scales(const quantization &q) {
    if (!traits(q.scales.type).integral) return std::nullopt;
    return concat("scales: expected data type f32, f16, bf16, f8_e4m3 or f8_e8m0, given ", to_string(q.scales.type));
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
    if (auto why = cannot_read_src(q)) return why;
    if (auto why = cannot_read_scales(q)) return why;
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
    if (auto why = cannot_read_scales(q)) return why;
    const auto src = q.src.type;
    if (src == data_type::u32 && q.zero_points && q.zero_points->type != src)
        return concat("zps: expected data type u32, that of src, given ", to_string(q.zero_points->type));
    return std::nullopt;
}

/// Why the kernel cannot quantize q to floats, as the end of a sentence; or nothing.
std::optional<std::string> cannot_quantize_to_floats(const quantization &q) {
    if (auto why = cannot_read_src(q)) return why;
    if (auto why = cannot_read_scales(q)) return why;
    return cannot_divide(q);
}

} // namespace

bool rounds_before_zero_points(const quantization &q) {
    return q.rule == numerics::onnx && q.dir == direction::quantize && traits(q.dst.type).integral
            && differs_from_strict(q);
}

std::optional<std::string> unsupported(const quantization &q) {
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

// The hand-written kernel: which row function computes a statement.
#include "kernels/native/implementation.hpp"
#include "quantization/as_strict.hpp"
#include "quantization/data_type.hpp"
#include "quantization/fold.hpp"
#include "quantization/text.hpp"

namespace dynquant::kernels {
namespace {

using namespace native;

const row_functions &functions_of(isa value) {
#if defined(__x86_64__)
    if (value == isa::avx512) return avx512_rows;
    if (value == isa::avx2) return avx2_rows;
#endif
    return scalar_rows;
}

/// Why q is not dequantized, as the end of a sentence; or nothing.
std::optional<std::string> cannot_dequantize(const quantization &q) {
    const auto src = q.src.type, scales = q.scales.type;
    if (traits(src).bits == 6)
        return concat("src: expected data type of 2, 4, 8, 16 or 32 bits, given ", to_string(src));
    if ((traits(scales).places & place::real) == 0)
        return concat("scales: expected data type f32, f16 or bf16, given ", to_string(scales));
    if (src == data_type::u32 && q.zero_points && q.zero_points->type != src)
        return concat("zps: expected data type u32, that of src, given ", to_string(q.zero_points->type));
    return std::nullopt;
}

/// The same of quantizing to floats.
std::optional<std::string> cannot_quantize_to_floats(const quantization &q) {
    for (const auto &[name, type] : {std::pair("src", q.src.type), std::pair("scales", q.scales.type)})
        if ((traits(type).places & place::real) == 0)
            return concat(name, ": expected data type f32, f16 or bf16, given ", to_string(type));
    if (traits(q.dst.type).bits == 6)
        return concat("dst: expected data type of 4, 8 or 16 bits, given ", to_string(q.dst.type));
    if (q.division != precision::f32) return concat("division: expected f32, given ", to_string(q.division));
    return std::nullopt;
}

class native_kernel_type final : public kernel {
  public:
    kernel_kind kind() const override { return kernel_kind::native; }

    std::optional<std::string> refusal(const quantization &q, const settings &) const override {
        if (q.dir == direction::dequantize) return cannot_dequantize(q);
        if (!traits(q.dst.type).integral) return cannot_quantize_to_floats(q);
        return rounds_before_zero_points(q) ? std::nullopt : differs_from_strict(q);
    }

    quantization simplified(const quantization &q) const override { return folded(q).value_or(q); }

    std::unique_ptr<implementation> prepare(const quantization &q, const settings &s) const override {
        return apply_rows(q, s, function_of(functions_of(s.max_isa), q));
    }
};

} // namespace

const kernel &native_kernel() {
    static const native_kernel_type instance;
    return instance;
}

} // namespace dynquant::kernels

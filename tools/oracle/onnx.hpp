// The oracle's rules for numerics::onnx: QuantizeLinear with the type of its division, in exact arithmetic.
#pragma once

#include <optional>

#include "dynquant/quantization.hpp"
#include "exact.hpp"

namespace dynquant::test::oracle {

struct onnx_operands {
    exact::number src, scale;
    std::optional<exact::number> zero_point;
    precision division;
};

exact::number number_of_integer(std::int64_t value);
/// The value of an element's bits.
exact::number number_from(data_type type, std::uint32_t bits);

/// The bits of clamp(RNE(src / scale) + zp), or of RNE(src / scale + zp) where dst is a float.
std::uint32_t quantize_onnx(const onnx_operands &of, data_type dst, bool saturate);

} // namespace dynquant::test::oracle

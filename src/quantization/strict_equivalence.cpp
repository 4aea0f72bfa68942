#include "quantization/strict_equivalence.hpp"

#include "elements/table.hpp"
#include "quantization/text.hpp"

namespace dynquant {

std::optional<std::string> differs_from_strict(const quantization &q) {
    if (q.rule != numerics::onnx) return std::nullopt;
    if (q.division != precision::f32)
        return concat("the division is one in ", to_string(q.division), ", and numerics strict divides in f32");
    if (q.saturate && !traits(q.dst.type).integral) return "dst saturates, and overflows under numerics strict";
    if (const auto wrong = check_under(q, numerics::strict))
        return concat("numerics strict has no such types: ", wrong->message);
    if (q.dir == direction::quantize && q.zero_points)
        return "zero points are added to the rounded quotients, and under numerics strict to those not yet rounded";
    return std::nullopt;
}

} // namespace dynquant

// Helpers of the operators' tests. A test is a clause of a specification; its parameter is the op that has the clause,
// and the kernel and instruction set on which the clause is asserted.
#pragma once

#include <cmath>
#include <limits>

#include <gtest/gtest.h>

#include "support/single_op.hpp"

namespace dynquant::test {

using kind = dg::op::kind;
using ints = std::vector<int>;
using floats = std::vector<float>;

inline constexpr auto s8 = integer_type::s8, u8 = integer_type::u8, s32 = integer_type::s32;
inline constexpr float infinity = std::numeric_limits<float>::infinity();
inline constexpr float nan = std::numeric_limits<float>::quiet_NaN();

/// An op and a variant: several ops share most clauses.
struct op_by_variant {
    kind op;
    variant by;
};

inline std::vector<op_by_variant> each(const std::vector<kind> &ops, const std::vector<variant> &variants) {
    std::vector<op_by_variant> result;
    for (const auto op : ops)
        for (const auto &v : variants)
            result.push_back({op, v});
    return result;
}

inline std::ostream &operator<<(std::ostream &out, const op_by_variant &value) {
    switch (value.op) {
        case kind::DynamicQuantize: return out << "DynamicQuantize_" << value.by;
        case kind::DynamicDequantize: return out << "DynamicDequantize_" << value.by;
        case kind::Quantize: return out << "Quantize_" << value.by;
        default: return out << "Dequantize_" << value.by;
    }
}

class operator_test : public testing::TestWithParam<op_by_variant> {
  protected:
    /// No zps: the op has none.
    static single_op make(dims shape, floats scales, std::vector<std::int64_t> zps = {}) {
        single_op result {.kind = GetParam().op, .shape = std::move(shape), .scales = std::move(scales)};
        if (!zps.empty()) result.zps = std::move(zps);
        return result;
    }
    static ints quantized(const single_op &op, const floats &src) { return op.quantize(GetParam().by, src); }
    static floats dequantized(const single_op &op, const ints &src) { return op.dequantize(GetParam().by, src); }
};

} // namespace dynquant::test

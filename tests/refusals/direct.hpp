// Tables of statements that the direct API refuses.
#pragma once

#include <optional>
#include <vector>

#include "dynquant/quantization.hpp"
#include "names.hpp"

namespace dynquant::test {

constexpr auto bad_argument = status::invalid_arguments;
constexpr auto bad_shape = status::invalid_shape;
constexpr auto bad_type = status::invalid_data_type;

/// What a statement has otherwise than a right one, where it is set.
struct changes {
    std::optional<direction> dir = {};
    std::optional<numerics> rule = {};
    precision division = precision::f32;
    bool saturate = false;
    std::optional<data_type> src = {}, dst = {}, scales = {}, zps = {}, second = {};
    bool no_zps = false, no_second = false;
    dims src_dims = {}, dst_dims = {}, src_strides = {}, dst_strides = {};
    dims block = {}, zps_block = {}, second_block = {};
    std::vector<double> values = {}, zps_values = {}, second_values = {};
    std::optional<scale_range> range = {};
    std::optional<scale_rounding> rounding = {};
    std::optional<scale_quotient> quotient = {};
    std::optional<nonfinite> special = {};
    bool narrow = false;
    std::optional<double> least = {}, of_zero = {};

    quantization of(quantization q) const {
        const auto set = [](auto &to, const auto &from) {
            if (from) to = *from;
        };
        const auto set_dims = [](dims &to, const dims &from) {
            if (!from.empty()) to = from;
        };
        set(q.dir, dir);
        set(q.rule, rule);
        q.division = division;
        q.saturate = saturate;
        set(q.src.type, src);
        set(q.dst.type, dst);
        set_dims(q.src.dims, src_dims);
        set_dims(q.dst.dims, dst_dims);
        q.src.strides = src_strides;
        q.dst.strides = dst_strides;
        const auto set_parameter = [&](parameter &p, const auto &type, const dims &extents, const auto &known) {
            set(p.type, type);
            set_dims(p.block, extents);
            p.values = known;
        };
        set_parameter(q.scales, scales, block, values);
        if (zps && !q.zero_points) q.zero_points = q.scales;
        if (second && !q.second_scales) q.second_scales = {data_type::f32, q.src.dims};
        if (no_zps) q.zero_points.reset();
        if (no_second) q.second_scales.reset();
        if (q.zero_points) set_parameter(*q.zero_points, zps, zps_block, zps_values);
        if (q.second_scales) set_parameter(*q.second_scales, second, second_block, second_values);
        if (q.computed) {
            set(q.computed->range, range);
            set(q.computed->rounding, rounding);
            set(q.computed->quotient, quotient);
            set(q.computed->special, special);
            set(q.computed->least, least);
            set(q.computed->of_zero, of_zero);
            q.computed->narrow = narrow;
        }
        return q;
    }
};

struct refused_statement {
    changes what;
    dynquant::status status;
    names message;
};
/// check() and prepare() refuse a right statement with these changes, with the same message.
inline void expect_refused(const quantization &right, const std::vector<refused_statement> &statements) {
    for (const auto &[what, status, message] : statements) {
        const auto q = what.of(right);
        EXPECT_TRUE(fails([&q = q] { prepare(q); }, status, message, message.argument));
        const auto found = check(q);
        ASSERT_TRUE(found) << message.argument << ": expected " << message.expected << ", given " << message.given;
        EXPECT_TRUE(fails([&q = q] { prepare(q); }, found->status, found->message));
        for (const auto *more : {", b", ", f", ", s", ", u", " or "}) // a list of types ends where the row's ends
            EXPECT_EQ(found->message.find(message.expected + more), std::string::npos) << found->message;
    }
}

} // namespace dynquant::test

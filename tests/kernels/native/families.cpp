// The table of families: each valid statement has one, and each family has a statement.
#include <set>

#include <gtest/gtest.h>

#include "elements/table.hpp"
#include "kernels/native/implementation.hpp"
#include "kernels/native/plan.hpp"

namespace dynquant::kernels::native {
namespace {

const auto &scalar_set = loops_for(targets::scalar);

/// All that may differ in what a family computes. Most of these are not valid.
std::vector<quantization> candidates() {
    std::vector<quantization> result;
    const auto add = [&](direction dir, numerics rule, data_type src, data_type dst) {
        quantization q;
        q.dir = dir;
        q.rule = rule;
        q.src = {src, {4}, {}};
        q.dst = {dst, {4}, {}};
        q.scales = {data_type::f32, {4}, {}};
        for (const auto division : {precision::f32, precision::f16, precision::bf16, precision::f64}) {
            q.division = division;
            q.zero_points.reset();
            result.push_back(q);
            for (const auto &type : data_types) {
                q.zero_points = {type.type, {4}, {}};
                result.push_back(q);
            }
        }
    };
    for (const auto dir : {direction::quantize, direction::dequantize})
        for (const auto rule : {numerics::strict, numerics::any, numerics::onnx})
            for (const auto &src : data_types)
                for (const auto &dst : data_types)
                    add(dir, rule, src.type, dst.type);
    return result;
}

TEST(families, each_valid_statement_has_one_and_each_has_a_statement) {
    std::set<std::ptrdiff_t> found;
    std::size_t valid = 0;
    for (const auto &q : candidates()) {
        if (check(q)) continue;
        ++valid;
        const auto forms = canonicalize(q);
        ASSERT_NO_THROW(found.insert(plan_of(q, forms, scalar_set).formulas - scalar_set.families))
                << to_string(q.src.type) << " to " << to_string(q.dst.type) << ", " << to_string(q.rule);
    }
    EXPECT_GT(valid, 1000U);
    for (const auto dst : {data_type::u8, data_type::s8, data_type::f8_e4m3}) { // by multipliers: boxes alone have them
        const formula_query q = {direction::quantize, dst, true, numerics::onnx, precision::f32, true};
        found.insert(&family_for(scalar_set, q) - scalar_set.families);
    }
    EXPECT_EQ(found.size(), static_cast<std::size_t>(scalar_set.family_count));
}

TEST(families, the_first_of_those_that_compute_a_statement_is_its_family) {
    const auto division_of = [](data_type dst, precision division, bool has_own_zero_points) {
        const formula_query q = {direction::quantize, dst, false, numerics::onnx, division, has_own_zero_points};
        return family_for(scalar_set, q).computes.divisions;
    };
    EXPECT_EQ(division_of(data_type::u8, precision::f16, true), bit(precision::f16));
    EXPECT_EQ(division_of(data_type::u8, precision::f16, false), statement_set::all); // any division, any zero points
    EXPECT_EQ(division_of(data_type::s32, precision::f32, false), bit(precision::f32));
    EXPECT_EQ(division_of(data_type::u32, precision::f32, false), statement_set::all);
}

} // namespace
} // namespace dynquant::kernels::native

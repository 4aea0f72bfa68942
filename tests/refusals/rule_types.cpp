// Each front-end takes a rule of computed scales, by its name, with the types that docs/reference.md says, and no
// others.
#include <algorithm>

#include "support/graph.hpp"
#include "support/onnx.hpp"

namespace dynquant::test {
namespace {

using enum data_type;
using types = std::vector<data_type>;

struct named_rule {
    const char *name;
    scale_rule rule;
};
struct row {
    std::vector<named_rule> rules;
    types dst, scales;
};

const types with_sign = {s8, s4, f8_e4m3, f8_e5m2, f4_e2m1, f6_e2m3, f6_e3m2}, signed_integers = {s8, s4},
            integers = {s8, u8, s4, u4}, real = {f32, f16, bf16}, real_or_e4m3 = {f32, f16, bf16, f8_e4m3};
const row rows[] = {
        {{{"absmax", {}}, {"nvfp4", presets::nvfp4()}, {"onednn_dynamic_fp", presets::onednn_dynamic_fp()},
                 {"torchao_symmetric", presets::torchao_symmetric()}},
                with_sign, real_or_e4m3},
        {{{"onednn_dynamic_quantize", presets::onednn_dynamic_quantize()}, {"vllm", presets::vllm()}}, signed_integers,
                real_or_e4m3},
        {{{"ggml_q8_0", presets::ggml_q8_0()}}, signed_integers, real},
        {{{"mx_floor", presets::mx(scale_rounding::floor)}, {"mx_ceil", presets::mx(scale_rounding::ceil)},
                 {"mx_even", presets::mx(scale_rounding::even)}, {"mx_rceil", presets::mx(scale_rounding::rceil)}},
                with_sign, {f8_e8m0}},
        {{{"minmax", {.range = scale_range::minmax}}, {"onnx", presets::onnx()},
                 {"torchao_asymmetric", presets::torchao_asymmetric()}},
                integers, real},
};

struct numbered_type {
    data_type type;
    onnx::element_type in_onnx;
    int in_onednn; // 0: it has none
};
constexpr numbered_type every_type[] = {{f32, tensor_proto::float32, 3}, {s32, tensor_proto::int32, 4},
        {s8, tensor_proto::int8, 5}, {u8, tensor_proto::uint8, 6}, {f16, tensor_proto::float16, 1},
        {bf16, tensor_proto::bfloat16, 2}, {s4, tensor_proto::int4, 11}, {u4, tensor_proto::uint4, 12},
        {f8_e4m3, tensor_proto::float8e4m3fn, 10}, {f8_e5m2, tensor_proto::float8e5m2, 9},
        {s16, tensor_proto::int16, 0}, {u16, tensor_proto::uint16, 0}, {u32, tensor_proto::uint32, 0},
        {s2, tensor_proto::int2, 0}, {u2, tensor_proto::uint2, 0}, {f4_e2m1, tensor_proto::float4e2m1, 14},
        {f6_e2m3, tensor_proto::float6e2m3, 0}, {f6_e3m2, tensor_proto::float6e3m2, 0},
        {f8_e4m3fnuz, tensor_proto::float8e4m3fnuz, 0}, {f8_e5m2fnuz, tensor_proto::float8e5m2fnuz, 0},
        {f8_e8m0, tensor_proto::float8e8m0, 13}};

bool direct_takes(const named_rule &rule, data_type dst, data_type scales) {
    quantization q;
    q.src = {f32, {2, 3}, {}};
    q.dst = {dst, {2, 3}, {}};
    q.scales = {scales, {2, 3}, {}};
    q.rule = numerics::onnx;
    q.computed = rule.rule;
    if (q.computed->range == scale_range::minmax) q.zero_points = {dst, {2, 3}, {}};
    return !check(q);
}

bool onnx_takes(const named_rule &rule, const numbered_type &dst, const numbered_type &scales) {
    const auto node = dynamic_quantize_linear({tensor_proto::float32, {2, 3}},
            {{"to", dst.in_onnx}, {"scale_type", scales.in_onnx}, text_attribute("rule", rule.name)});
    try {
        onnx::lower(node);
    } catch (const error &) {
        return false;
    }
    return true;
}

bool graph_takes(const named_rule &rule, const numbered_type &dst, const numbered_type &scales) {
    const auto in_onednn = [](const numbered_type &t) { return static_cast<type>(t.in_onednn); };
    computed_op op {.dst = lt(3, in_onednn(dst)), .scales = lt(4, in_onednn(scales)), .rule = rule.name};
    if (rule.rule.range == scale_range::minmax) op.zps = lt(5, in_onednn(dst));
    dg::graph graph(dg::engine::kind::cpu);
    return graph.add_op(op.make(), false) == dg::status::success;
}

TEST(rule_refusals, every_front_end_takes_a_rule_with_its_types_only) {
    for (const auto &row : rows)
        for (const auto &dst : every_type)
            for (const auto &scales : every_type) {
                const bool expected =
                        std::ranges::count(row.dst, dst.type) == 1 && std::ranges::count(row.scales, scales.type) == 1;
                for (const auto &rule : row.rules) {
                    SCOPED_TRACE(std::string(rule.name) + ", " + to_string(dst.type) + " by " + to_string(scales.type));
                    EXPECT_EQ(direct_takes(rule, dst.type, scales.type), expected);
                    EXPECT_EQ(onnx_takes(rule, dst, scales), expected);
                    if (dst.in_onednn != 0 && scales.in_onednn != 0) {
                        EXPECT_EQ(graph_takes(rule, dst, scales), expected);
                    }
                }
            }
}

} // namespace
} // namespace dynquant::test

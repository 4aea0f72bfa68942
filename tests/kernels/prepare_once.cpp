// A prepare validates its statement once, lowers an op once, and makes each canonical form once. The linker routes
// calls of the functions below through counters (--wrap). A function under another name is not routed: its count is
// then 0.
#include <map>
#include <string>

#include <gtest/gtest.h>

#include "graph/lowering.hpp"
#include "kernels/native/scales/boxes.hpp"
#include "quantization/canonical.hpp"
#include "quantization/named_rules.hpp"
#include "support/graph.hpp"
#include "support/onnx.hpp"

namespace dynquant::test {

using counts = std::map<std::string, int>;
static counts calls;

// Declared with the linker's names: `real_` is the function, `counted_` is what the library calls in its place.
#define DYNQUANT_COUNT(label, symbol, result, name, parameters, given)                                                 \
    result real_##name parameters asm("__real_" symbol);                                                               \
    result counted_##name parameters asm("__wrap_" symbol);                                                            \
    result counted_##name parameters {                                                                                 \
        ++calls[label];                                                                                                \
        return real_##name given;                                                                                      \
    }

using optional_rule = std::optional<scale_rule>;
DYNQUANT_COUNT("check", DYNQUANT_CHECK, std::optional<problem>, check, (const quantization &q), (q))
DYNQUANT_COUNT(
        "canonicalize", DYNQUANT_CANONICALIZE, std::vector<canonical_form>, canonicalize, (const quantization &q), (q))
DYNQUANT_COUNT("cut", DYNQUANT_CUT, kernels::native::tiling, cut, (const quantization &q), (q))
DYNQUANT_COUNT("find_rule", DYNQUANT_FIND_RULE, const scale_rule *, find_rule, (const std::string &name), (name))
DYNQUANT_COUNT("lower op", DYNQUANT_LOWER_OP, quantization, lower,
        (const graph::core::op_record &op, numerics rule, const optional_rule &computed), (op, rule, computed))
DYNQUANT_COUNT("lower node", DYNQUANT_LOWER_NODE, onnx::lowering, lower_node, (const onnx::node &n), (n))

namespace {

quantization statement(data_type dst, numerics rule = numerics::strict, std::optional<data_type> zero_points = {}) {
    auto q = statement_of(direction::quantize, data_type::f32, dst, {4, 64}, {1, 64}, zero_points);
    q.rule = rule;
    return q;
}

quantization computed(data_type dst) {
    auto q = statement(dst, numerics::onnx);
    q.scales.block = {1, 32};
    q.computed = scale_rule {};
    return q;
}

/// The calls of a prepare of q, which `kernel` computes.
counts calls_of(const quantization &q, kernel_kind kernel = kernel_kind::native, const options &opts = {}) {
    calls.clear();
    EXPECT_EQ(prepare(q, opts).info().kernel, kernel);
    return calls;
}

counts calls_of(const onnx::node &n) {
    calls.clear();
    EXPECT_EQ(onnx::prepare(n).info().kernel, kernel_kind::native);
    return calls;
}

counts calls_of(const dg::op &op, const std::vector<lt> &inputs, const std::vector<lt> &outputs) {
    const auto partition = partition_of(op);
    calls.clear();
    partition.compile(inputs, outputs, cpu());
    return calls;
}

const counts once = {{"check", 1}, {"canonicalize", 1}};

TEST(prepare_once, statements) {
    using enum data_type;
    const auto onnx = numerics::onnx;
    auto dequantize = statement_of(direction::dequantize, f32, s8, {4, 64}, {1, 64}, s8);
    dequantize.rule = onnx;
    for (const auto &q : {statement(u8), statement(s8, numerics::strict, s8), statement(f8_e4m3), statement(u8, onnx),
                 statement(u8, onnx, u8), statement(s16, onnx), statement(f4_e2m1, onnx), dequantize})
        EXPECT_EQ(calls_of(q), once) << describe(q);
}

TEST(prepare_once, statements_of_other_kernels) {
    EXPECT_EQ(calls_of(statement(data_type::u8), kernel_kind::reference, {.kernel = kernel_kind::reference}),
            (counts {{"check", 1}}));
    auto powers_of_two = statement(data_type::u8, numerics::onnx);
    powers_of_two.scales.values = {1, 2, 4, 8};
    EXPECT_EQ(calls_of(powers_of_two, kernel_kind::onednn, {.kernel = kernel_kind::onednn}), once);
}

/// A form for each shape of box; a second one where src has other strides than dst, as ranges are found in src's order.
/// Groups are not cut.
TEST(prepare_once, computed_scales) {
    EXPECT_EQ(calls_of(computed(data_type::s8)), once);
    EXPECT_EQ(calls_of(computed(data_type::s4)), once);
    auto scales_only = computed(data_type::s8);
    scales_only.computed->scales_only = true;
    EXPECT_EQ(calls_of(scales_only), once);
    auto columns = computed(data_type::s8);
    columns.scales.block = {4, 1};
    EXPECT_EQ(calls_of(columns), (counts {{"check", 1}, {"cut", 1}, {"canonicalize", 1}}));
    auto transposed = computed(data_type::s8);
    transposed.dst.strides = {1, 4};
    EXPECT_EQ(calls_of(transposed), (counts {{"check", 1}, {"cut", 1}, {"canonicalize", 2}}));
    auto empty = computed(data_type::s8);
    empty.src.dims = empty.dst.dims = {0, 64};
    EXPECT_EQ(calls_of(empty), once);
}

TEST(prepare_once, graph_ops) {
    const dynamic_op given;
    EXPECT_EQ(calls_of(given.make(), given.inputs(), {given.dst}),
            (counts {{"lower op", 1}, {"check", 1}, {"canonicalize", 1}}));
    const computed_op computing;
    EXPECT_EQ(calls_of(computing.make(), computing.inputs(), computing.outputs()),
            (counts {{"find_rule", 1}, {"lower op", 1}, {"check", 1}, {"canonicalize", 1}}));
}

TEST(prepare_once, onnx_nodes) {
    using namespace tensor_proto;
    const counts of_node = {{"lower node", 1}, {"check", 1}, {"canonicalize", 1}};
    EXPECT_EQ(calls_of(quantize_linear(13, {{float32, {4, 64}}, {float32, {64}}})), of_node);
    EXPECT_EQ(calls_of(quantize_linear(21, {{float32, {4, 64}}, {float32, {64}}, {uint16, {64}}})), of_node);
    EXPECT_EQ(calls_of(dequantize_linear(13, {{int8, {4, 64}}, {float32, {64}}, {int8, {64}}})), of_node);
    EXPECT_EQ(calls_of(dynamic_quantize_linear({float32, {4, 64}})), of_node);
}

} // namespace
} // namespace dynquant::test

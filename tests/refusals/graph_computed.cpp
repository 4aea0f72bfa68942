// A DynamicQuantize that computes its scales and zero points is refused with wrong attributes, ports and calls.
#include "graph.hpp"

namespace dynquant::test {
namespace {

constexpr float infinity = std::numeric_limits<float>::infinity(), nan = std::numeric_limits<float>::quiet_NaN();

const auto e8m0 = lt(4, dg::newer::e8m0), e4m3 = lt(4, dg::newer::f8_e4m3), any_scales = lt(4, type::undef);

TEST(graph_computed_refusals, attribute_name) {
    const std::string rule = "absmax";
    const dynamic_op dequantize {.which = kind::DynamicDequantize, .src = u8(0, {2, 4}), .dst = f32(3, {2, 4})};
    expect_refused({
            {dynamic_op {}, dg::own::least, 1.0F, {"least", "group_shape or mask", "least"}},
            {static_op {}, dg::own::scale_rule, rule, {"scale_rule", "qtype, axis, scales or zps", "scale_rule"}},
            {dequantize, dg::own::scale_rule, rule, {"scale_rule", "group_shape or mask", "scale_rule"}},
            {dequantize, dg::own::saturate, true, {"saturate", "group_shape or mask", "saturate"}},
            {computed_op {}, attr::scales, std::vector<float> {1}, {"scales", "nonfinite or saturate", "scales"}},
    });
}

TEST(graph_computed_refusals, attributes) {
    EXPECT_TRUE(add_refuses(computed_op {.rule = "abs_max"}.make(), bad_argument,
            q
                    + "scale_rule: expected absmax, minmax, onnx, onednn_dynamic_quantize, onednn_dynamic_fp, "
                      "mx_floor, "
                      "mx_ceil, mx_even, mx_rceil, nvfp4, torchao_symmetric, torchao_asymmetric, ggml_q8_0 or vllm, "
                      "given "
                      "'abs_max' (did you mean 'absmax'?)"));
    expect_refused({
            {computed_op {.rule = ""}, bad_argument, {"scale_rule", "ggml_q8_0 or vllm", "''"}},
            {computed_op {.quotient = "division"}, bad_argument,
                    {"quotient", "divide, multiply_reciprocal or multiply_range",
                            "'division' (did you mean 'divide'?)"}},
            {computed_op {.nonfinite = "ignore"}, bad_argument, {"nonfinite", "propagate or skip", "'ignore'"}},
            {computed_op {}, dg::own::least, std::vector<float> {1, 2}, {"least", "one value", "2"}},
    });
    using own = std::pair<attr, const char *>;
    for (const auto &[name, text] : {own {dg::own::scale_rule, "scale_rule"}, own {dg::own::quotient, "quotient"},
                 own {dg::own::nonfinite, "nonfinite"}})
        expect_refused({{computed_op {}, name, std::int64_t {1}, {text, "string", "one of type s64"}}});
    for (const auto &[name, text] : {own {dg::own::narrow, "narrow"}, own {dg::own::saturate, "saturate"}})
        expect_refused({{computed_op {}, name, std::int64_t {1}, {text, "bool", "one of type s64"}}});
    for (const auto &[name, text] : {own {dg::own::least, "least"}, own {dg::own::of_zero, "of_zero"}})
        expect_refused({{computed_op {}, name, std::int64_t {1}, {text, "f32", "one of type s64"}}});
    for (const auto &[value, shown] : {std::pair {-1.0F, "-1"}, {infinity, "inf"}, {nan, "nan"}})
        expect_refused({
                {computed_op {.least = value}, bad_argument, {"least", "a finite number of 0 or more", shown}},
                {computed_op {.of_zero = value}, bad_argument, {"of_zero", "a finite number of 0 or more", shown}},
        });
}

// While dims are unknown, too.
TEST(graph_computed_refusals, rule_fits_dst) {
    for (const bool known : {true, false}) {
        const auto src = known ? f32(0, {2, 3}) : lt(0, type::f32);
        const auto with = [&](type dst, const std::string &rule, const lt &scales, std::optional<lt> zps = {},
                                  std::optional<bool> narrow = {}) {
            return computed_op {.src = src,
                    .dst = known ? dense(3, dst, {2, 3}) : lt(3, dst),
                    .scales = scales,
                    .zps = zps,
                    .rule = rule,
                    .narrow = narrow};
        };
        const auto f8 = dg::newer::f8_e4m3;
        const lt zps(5, type::s8), zps_u4(5, dg::newer::u4), f32_scales(4, type::f32);
        const std::string of_u8 = "minmax, onnx or torchao_asymmetric for dst of u8";
        expect_refused({
                {with(type::u8, "absmax", f32(4, {1})), bad_argument, {"scale_rule", of_u8, "absmax"}},
                {with(f8, "minmax", f32(4, {1}), zps), bad_argument,
                        {"scale_rule", "absmax, onednn_dynamic_fp, nvfp4 or torchao_symmetric for dst of f8_e4m3",
                                "minmax"}},
                {with(f8, "vllm", any_scales), bad_argument,
                        {"scale_rule",
                                "absmax, onednn_dynamic_fp, mx_floor, mx_ceil, mx_even, mx_rceil, nvfp4 or "
                                "torchao_symmetric for dst of f8_e4m3",
                                "vllm"}},
                {with(f8, "vllm", e8m0), bad_argument,
                        {"scale_rule", "mx_floor, mx_ceil, mx_even or mx_rceil for dst of f8_e4m3", "vllm"}},
                {with(f8, "vllm", f32_scales, {}, true), bad_argument, {"narrow", "false for dst of f8_e4m3", "true"}},
                {with(type::u8, "mx_ceil", e8m0), bad_argument, {"scale_rule", of_u8, "mx_ceil"}},
                {with(dg::newer::u4, "onnx", f32(4, {1}), zps_u4, true), bad_argument,
                        {"narrow", "false for dst of u4", "true"}},
        });
    }
}

TEST(graph_computed_refusals, port_count) {
    expect_refused({
            {computed_op {.dst = lt(3, type::u8), .rule = "minmax"}, bad_op,
                    {"outputs", "3 (dst, scales, zps) for scale_rule minmax", "2"}},
            {computed_op {.zps = s8(5, {1})}, bad_op, {"outputs", "2 (dst, scales) for scale_rule absmax", "3"}},
    });
    const dg::op without(3, kind::DynamicQuantize, {f32(0, {2, 3})}, {s8(3, {2, 3})}, "q");
    EXPECT_TRUE(add_refuses(without, bad_op, names {"inputs", "2 or 3 (src, scales, optionally zps)", "1"}, q));
    auto one = without;
    one.set_attr<std::string>(dg::own::scale_rule, "absmax");
    EXPECT_TRUE(add_refuses(one, bad_op, names {"outputs", "2 or 3 (dst, scales, optionally zps)", "1"}, q));
    auto inputs = computed_op {}.make();
    inputs.add_inputs({f32(1, {1}), f32(2, {1})});
    EXPECT_TRUE(add_refuses(inputs, bad_op, names {"inputs", "1 or 2 (src, optionally global_scale)", "3"}, q));
}

TEST(graph_computed_refusals, rule_fits_the_types) {
    const auto global = f32(1, {1});
    const auto zps = s8(5, {1});
    const std::string three = "f32, f16 or bf16", two = "divide or multiply_reciprocal for ";
    expect_refused({
            {computed_op {.scales = e8m0}, bad_type,
                    {"scales", "f32, f16, bf16 or f8_e4m3 for scale_rule absmax", "f8_e8m0"}},
            {computed_op {.rule = "mx_even"}, bad_type, {"scales", "f8_e8m0 for scale_rule mx_even", "f32"}},
            {computed_op {.scales = e4m3, .zps = zps, .rule = "minmax"}, bad_type,
                    {"scales", three + " for scale_rule minmax", "f8_e4m3"}},
            {computed_op {.global_scale = global}, bad_type, {"scales", "f8_e4m3 beside a global_scale", "f32"}},
            {computed_op {.scales = e4m3, .rule = "ggml_q8_0"}, bad_argument,
                    {"quotient", two + "scales of f8_e4m3", "multiply_range"}},
            {computed_op {.scales = e8m0, .rule = "ggml_q8_0"}, bad_type,
                    {"scales", three + " for scale_rule ggml_q8_0", "f8_e8m0"}},
            {computed_op {.global_scale = global, .scales = any_scales, .quotient = "multiply_range"}, bad_argument,
                    {"quotient", two + "a global_scale", "multiply_range"}},
            {computed_op {.zps = u8(5, {1}), .rule = "minmax"}, bad_type, {"zps", "s8, that of dst", "u8"}},
            {computed_op {.zps = s32(5, {1}), .rule = "minmax"}, bad_type, {"zps", "s8, that of dst", "s32"}},
            {computed_op {.dst = u8(3, {2, 3}), .zps = s32(5, {1}), .rule = "minmax"}, bad_type,
                    {"zps", "u8, that of dst", "s32"}},
            {computed_op {.zps = zps, .rule = "minmax", .quotient = "multiply_range"}, bad_argument,
                    {"quotient", two + "scale_rule minmax", "multiply_range"}},
            {computed_op {.scales = e8m0, .rule = "mx_ceil", .quotient = "multiply_range"}, bad_argument,
                    {"quotient", two + "scale_rule mx_ceil", "multiply_range"}},
            {computed_op {.scales = e4m3, .quotient = "multiply_range"}, bad_argument,
                    {"quotient", two + "scales of f8_e4m3", "multiply_range"}},
    });
    for (const auto &scales : {any_scales, lt(4, type::f32), e4m3})
        expect_refused({
                {computed_op {.global_scale = global, .scales = scales, .zps = zps, .rule = "onnx"}, bad_op,
                        {"inputs", "1 (src) for scale_rule onnx", "2"}},
                {computed_op {.global_scale = global, .scales = scales, .rule = "mx_rceil"}, bad_op,
                        {"inputs", "1 (src) for scale_rule mx_rceil", "2"}},
        });
}

TEST(graph_computed_refusals, port_type) {
    const std::string of_absmax = "f32, f16, bf16 or f8_e4m3 for scale_rule absmax";
    expect_refused({
            {computed_op {.src = s32(0, {2, 3})}, bad_type, {"src", "f32, f16 or bf16", "s32"}},
            {computed_op {.global_scale = s8(1, {1}), .scales = dense(4, dg::newer::f8_e4m3, {1})}, bad_type,
                    {"global_scale", "f32", "s8"}},
            {computed_op {.dst = s32(3, {2, 3})}, bad_type,
                    {"dst", "s8, s4, f8_e4m3, f8_e5m2 or f4_e2m1 for scale_rule absmax", "s32"}},
            {computed_op {.dst = s32(3, {2, 3}), .narrow = true}, bad_type,
                    {"dst", "s8 or s4 for scale_rule absmax", "s32"}},
            {computed_op {.dst = s32(3, {2, 3}), .zps = s8(5, {1}), .rule = "onnx"}, bad_type,
                    {"dst", "s8, u8, s4 or u4 for scale_rule onnx", "s32"}},
            {computed_op {.scales = s8(4, {1})}, bad_type, {"scales", of_absmax, "s8"}},
            {computed_op {.global_scale = f32(1, {1}), .scales = s8(4, {1})}, bad_type,
                    {"scales", "f8_e4m3 beside a global_scale", "s8"}},
            {computed_op {.dst = lt(3, type::undef), .zps = s32(5, {1}), .rule = "minmax"}, bad_type,
                    {"zps", "s8, u8, s4 or u4 for scale_rule minmax", "s32"}},
    });
    expect_refused_by_compile({{computed_op {.scales = any_scales}, {f32(0, {2, 3})}, {s8(3, {2, 3}), any_scales},
            bad_type, {"scales", of_absmax, "undef"}}});
}

TEST(graph_computed_refusals, port_shape) {
    const auto of_groups = [](const dims &scales, const numbers &group) {
        return computed_op {.scales = f32(4, scales), .qtype = "per_group", .group_shape = group};
    };
    expect_refused({
            {computed_op {.scales = f32(4, {2})}, bad_shape, {"scales", "1 element (qtype per_tensor)", "2"}},
            {computed_op {.scales = f32(4, {1, 1})}, bad_shape, {"scales", "1-D", "rank 2"}},
            {computed_op {.scales = f32(4, {2}), .qtype = "per_channel"}, bad_shape,
                    {"scales", "3 elements (dims[1] of src)", "2"}},
            {computed_op {.scales = lt(4, type::f32), .zps = s8(5, {2}), .rule = "onnx", .qtype = "per_channel"},
                    bad_shape, {"zps", "3 elements (dims[1] of src)", "2"}},
            {computed_op {.scales = f32(4, {3}), .mask = 1}, bad_shape,
                    {"scales", "2 at dim 0 (dims[0] of src, 2, in groups of 1)", "3"}},
            {of_groups({2}, {1, 3}), bad_shape, {"scales", "the rank of src, 2", "1"}},
            {of_groups({2, 1}, {1, 2}), bad_shape, {"group_shape", "a divisor of dims[1] of src, 3", "2 at dim 1"}},
            {computed_op {.global_scale = f32(1, {2}), .scales = dense(4, dg::newer::f8_e4m3, {1})}, bad_shape,
                    {"global_scale", "1 element", "dims 2"}},
            {computed_op {.dst = s8(3, {2, 4})}, bad_shape, {"dst", "the dims of src, 2x3", "2x4"}},
    });
}

TEST(graph_computed_refusals, ports_of_scales_and_zps_are_dense) {
    const auto unknown_dims = [](const dims &strides) {
        return changed(lt(4, type::f32, dims(strides.size(), 1), strides), [](auto &t) {
            for (int d = 0; d < t.ndims; ++d)
                t.dims[d] = unknown;
        });
    };
    for (const auto &scales : {lt(4, type::f32, dims {3}, dims {2}), unknown_dims({2})})
        expect_refused(
                {{computed_op {.scales = scales, .qtype = "per_channel"}, bad_shape, {"scales", "stride 1", "2"}}});
    for (const auto &scales : {lt(4, type::f32, dims {2, 3}, dims {1, 2}), unknown_dims({1, 2})})
        expect_refused(
                {{computed_op {.scales = scales, .mask = 3}, bad_shape, {"scales", "dense row-major strides", "1x2"}}});
    const computed_op any;
    const lt opaque = changed(any.scales, [](auto &t) { t.layout_type = dnnl_graph_layout_type_opaque; });
    expect_refused_by_compile({
            {any, {any.src}, {any.dst, opaque}, bad_argument, {"scales", "layout strided or any", "opaque"}},
            {any, {any.src}, {any.dst}, bad_argument, {"scales", "logical tensor 4 among the outputs of compile", "3"}},
    });
}

TEST(graph_computed_refusals, ports_have_logical_tensors_of_their_own) {
    expect_refused({{computed_op {.zps = s8(3, {1}), .rule = "minmax"}, dnnl_invalid_graph,
            {"zps", "a logical tensor of its own", "3, which is dst too"}}});
    dg::graph graph(dg::engine::kind::cpu);
    graph.add_op(computed_op {}.make());
    dg::op other(8, kind::DynamicDequantize, {s8(20, {2}), f32(21, {1})}, {f32(4, {2})}, "dq");
    EXPECT_TRUE(fails([&] { graph.add_op(other); }, dnnl_invalid_graph,
            names {"dst", "that no other op writes", "4, which is scales of op 3 'q' (DynamicQuantize)"},
            "op 8 'dq' (DynamicDequantize): "));
}

TEST(graph_computed_refusals, ports_are_named_in_a_cycle) { // src of q is made from its scales
    dg::graph graph(dg::engine::kind::cpu);
    graph.add_op(computed_op {.src = f32(0, {2}), .dst = s8(3, {2})}.make());
    graph.add_op(dg::op(8, kind::DynamicDequantize, {s8(20, {2}), f32(4, {1})}, {f32(0, {2})}, "dq"));
    EXPECT_TRUE(fails([&] { graph.finalize(); }, dnnl_invalid_graph,
            q + "scales: expected a graph without cycles, given one in which logical tensor 4 depends on itself"));
}

class graph_computed_execute_refusals : public testing::Test {
  protected:
    testing::AssertionResult refuses(
            const std::vector<dg::tensor> &inputs, const std::vector<dg::tensor> &outputs, const std::string &message) {
        auto refused = fails([&] { compiled_.execute(stream_, inputs, outputs); }, dnnl_invalid_arguments, q + message);
        if (dst_ != bytes(1, std::byte {77}) || scales_ != bytes(1, std::byte {77}))
            return testing::AssertionFailure() << "an output was written";
        return refused;
    }

    computed_op op_ {.src = f32(0, {2}),
            .global_scale = f32(1, {1}),
            .dst = dense(3, dg::newer::f4_e2m1, {2}),
            .scales = dense(4, dg::newer::f8_e4m3, {1}),
            .rule = "nvfp4"};
    dg::compiled_partition compiled_ = partition_of(op_.make()).compile(op_.inputs(), op_.outputs(), cpu());
    dg::stream stream_ {cpu()};
    std::vector<float> src_ {12, 3}, global_ {0.5F};
    bytes dst_ {std::byte {77}}, scales_ {std::byte {77}};
    dg::tensor src = tensor_of(op_.src, src_), global_scale = tensor_of(*op_.global_scale, global_),
               dst = tensor_of(op_.dst, dst_), scales = tensor_of(op_.scales, scales_), null;
};

TEST_F(graph_computed_execute_refusals, null_handles) {
    const std::string message = ": expected a buffer, given a null pointer";
    EXPECT_TRUE(refuses({null, global_scale}, {dst, scales}, "src" + message));
    EXPECT_TRUE(refuses({src, null}, {dst, scales}, "global_scale" + message));
    EXPECT_TRUE(refuses({src, global_scale}, {null, scales}, "dst" + message));
    EXPECT_TRUE(refuses({src, global_scale}, {dst, null}, "scales" + message));
}

TEST_F(graph_computed_execute_refusals, wrong_counts) {
    EXPECT_TRUE(refuses({src}, {dst, scales}, "inputs: expected 2 tensors, as compile was given, given 1"));
    EXPECT_TRUE(refuses({src, global_scale}, {dst}, "outputs: expected 2 tensors, as compile was given, given 1"));
}

TEST_F(graph_computed_execute_refusals, and_computes_the_next_right_call) {
    compiled_.execute(stream_, {src, global_scale}, {dst, scales});
    EXPECT_EQ(dst_, integers_of({0x37}));
    EXPECT_EQ(scales_, integers_of({0x48}));
}

} // namespace
} // namespace dynquant::test

// A DynamicQuantize that computes its scales and zero points is refused with wrong attributes, ports and calls.
#include "graph.hpp"

namespace dynquant::test {
namespace {

const std::string q = "op 3 'q' (DynamicQuantize): ";
/// Takes an op in braces, too.
testing::AssertionResult refuses(const computed_op &op, dnnl_status_t status, const std::string &message) {
    return add_refuses(op.make(), status, named(op) + message);
}

constexpr float infinity = std::numeric_limits<float>::infinity(), nan = std::numeric_limits<float>::quiet_NaN();

TEST(graph_computed_refusals, is_known_by_its_attribute) {
    const dg::op without(3, kind::DynamicQuantize, {f32(0, {2, 3})}, {s8(3, {2, 3})}, "q");
    EXPECT_TRUE(add_refuses(
            without, dnnl_invalid_graph_op, q + "inputs: expected 2 or 3 (src, scales, optionally zps), given 1"));
    EXPECT_TRUE(refuses_with(dynamic_op {}, dg::own::least, 1.0F,
            "least: expected an attribute among qtype, axis, group_shape or mask, given least"));
}

TEST(graph_computed_refusals, is_no_other_op) {
    EXPECT_TRUE(refuses_with(static_op {}, dg::own::scale_rule, std::string("absmax"),
            "scale_rule: expected an attribute among qtype, axis, scales or zps, given scale_rule"));
    const dynamic_op dequantize {.which = kind::DynamicDequantize, .src = u8(0, {2, 4}), .dst = f32(3, {2, 4})};
    EXPECT_TRUE(refuses_with(dequantize, dg::own::scale_rule, std::string("absmax"),
            "scale_rule: expected an attribute among qtype, axis, group_shape or mask, given scale_rule"));
    EXPECT_TRUE(refuses_with(dequantize, dg::own::saturate, true,
            "saturate: expected an attribute among qtype, axis, group_shape or mask, given saturate"));
}

TEST(graph_computed_refusals, attributes_are_words_with_near_ones_suggested) {
    const std::string rules =
            "scale_rule: expected absmax, minmax, onnx, onednn_dynamic_quantize, onednn_dynamic_fp, mx_floor, mx_ceil, "
            "mx_even, mx_rceil, nvfp4, torchao_symmetric, torchao_asymmetric, ggml_q8_0 or vllm, given ";
    EXPECT_TRUE(refuses(
            computed_op {.rule = "abs_max"}, dnnl_invalid_arguments, rules + "'abs_max' (did you mean 'absmax'?)"));
    EXPECT_TRUE(refuses(computed_op {.rule = ""}, dnnl_invalid_arguments, rules + "''"));
    EXPECT_TRUE(refuses(computed_op {.quotient = "division"}, dnnl_invalid_arguments,
            "quotient: expected divide, multiply_reciprocal or multiply_range, given 'division' (did you mean "
            "'divide'?)"));
    EXPECT_TRUE(refuses(computed_op {.nonfinite = "ignore"}, dnnl_invalid_arguments,
            "nonfinite: expected propagate or skip, given 'ignore'"));
}

TEST(graph_computed_refusals, attributes_have_types) {
    const auto refuses = [](attr name, const auto &value, const std::string &message) {
        return refuses_with(computed_op {}, name, value, message);
    };
    const std::string of_s64 = ", given one of type s64";
    EXPECT_TRUE(refuses(dg::own::scale_rule, std::int64_t {1}, "scale_rule: expected a value of type string" + of_s64));
    EXPECT_TRUE(refuses(dg::own::narrow, std::int64_t {1}, "narrow: expected a value of type bool" + of_s64));
    EXPECT_TRUE(refuses(dg::own::least, std::int64_t {1}, "least: expected a value of type f32" + of_s64));
    EXPECT_TRUE(refuses(dg::own::of_zero, std::int64_t {1}, "of_zero: expected a value of type f32" + of_s64));
    EXPECT_TRUE(refuses(dg::own::quotient, std::int64_t {1}, "quotient: expected a value of type string" + of_s64));
    EXPECT_TRUE(refuses(dg::own::nonfinite, std::int64_t {1}, "nonfinite: expected a value of type string" + of_s64));
    EXPECT_TRUE(refuses(dg::own::saturate, std::int64_t {1}, "saturate: expected a value of type bool" + of_s64));
    EXPECT_TRUE(refuses(dg::own::least, std::vector<float> {1, 2}, "least: expected one value, given 2"));
    EXPECT_TRUE(refuses(attr::scales, std::vector<float> {1},
            "scales: expected an attribute among qtype, axis, group_shape, mask, scale_rule, narrow, least, of_zero, "
            "quotient, nonfinite or saturate, given scales"));
}

TEST(graph_computed_refusals, attributes_are_finite_and_not_negative) {
    for (const auto &[value, shown] : {std::pair {-1.0F, "-1"}, {infinity, "inf"}, {nan, "nan"}}) {
        const std::string message = std::string(": expected a finite number of 0 or more, given ") + shown;
        EXPECT_TRUE(refuses(computed_op {.least = value}, dnnl_invalid_arguments, "least" + message));
        EXPECT_TRUE(refuses(computed_op {.of_zero = value}, dnnl_invalid_arguments, "of_zero" + message));
    }
}

// While dims are unknown, too.
TEST(graph_computed_refusals, rule_fits_dst) {
    for (const bool known : {true, false}) {
        const auto dst = [&](type t) { return known ? dense(3, t, {2, 3}) : lt(3, t); };
        const auto src = known ? f32(0, {2, 3}) : lt(0, type::f32);
        EXPECT_TRUE(refuses(computed_op {.src = src, .dst = dst(type::u8)}, dnnl_invalid_arguments,
                "scale_rule: expected minmax, onnx or torchao_asymmetric for dst of u8, given absmax"));
        EXPECT_TRUE(refuses(
                computed_op {.src = src, .dst = dst(dg::newer::f8_e4m3), .zps = lt(5, type::s8), .rule = "minmax"},
                dnnl_invalid_arguments,
                "scale_rule: expected absmax, onednn_dynamic_fp, nvfp4 or torchao_symmetric for dst of f8_e4m3, given "
                "minmax"));
        const auto refuses_vllm = [&](lt scales, std::optional<bool> narrow, const std::string &rules) {
            const auto op = computed_op {
                    .src = src, .dst = dst(dg::newer::f8_e4m3), .scales = scales, .rule = "vllm", .narrow = narrow};
            return refuses(op, dnnl_invalid_arguments, rules);
        };
        EXPECT_TRUE(refuses_vllm(lt(4, type::undef), {},
                "scale_rule: expected absmax, onednn_dynamic_fp, mx_floor, mx_ceil, mx_even, mx_rceil, nvfp4 or "
                "torchao_symmetric for dst of f8_e4m3, given vllm"));
        EXPECT_TRUE(refuses_vllm(lt(4, dg::newer::e8m0), {},
                "scale_rule: expected mx_floor, mx_ceil, mx_even or mx_rceil for dst of f8_e4m3, given vllm"));
        EXPECT_TRUE(refuses_vllm(lt(4, type::f32), true, "narrow: expected false for dst of f8_e4m3, given true"));
        EXPECT_TRUE(refuses(
                computed_op {.src = src, .dst = dst(type::u8), .scales = lt(4, dg::newer::e8m0), .rule = "mx_ceil"},
                dnnl_invalid_arguments,
                "scale_rule: expected minmax, onnx or torchao_asymmetric for dst of u8, given mx_ceil"));
        EXPECT_TRUE(refuses(computed_op {.src = src,
                                    .dst = dst(dg::newer::u4),
                                    .zps = lt(5, dg::newer::u4),
                                    .rule = "onnx",
                                    .narrow = true},
                dnnl_invalid_arguments, "narrow: expected false for dst of u4, given true"));
    }
}

TEST(graph_computed_refusals, rule_says_whether_there_are_zps) {
    EXPECT_TRUE(refuses(computed_op {.dst = lt(3, type::u8), .rule = "minmax"}, dnnl_invalid_graph_op,
            "outputs: expected 3 (dst, scales, zps) for scale_rule minmax, given 2"));
    EXPECT_TRUE(refuses(computed_op {.zps = s8(5, {1})}, dnnl_invalid_graph_op,
            "outputs: expected 2 (dst, scales) for scale_rule absmax, given 3"));
    auto op = dg::op(3, kind::DynamicQuantize, {f32(0, {2, 3})}, {s8(3, {2, 3})}, "q");
    op.set_attr<std::string>(dg::own::scale_rule, "absmax");
    EXPECT_TRUE(add_refuses(
            op, dnnl_invalid_graph_op, q + "outputs: expected 2 or 3 (dst, scales, optionally zps), given 1"));
    auto inputs = computed_op {}.make();
    inputs.add_inputs({f32(1, {1}), f32(2, {1})});
    EXPECT_TRUE(add_refuses(
            inputs, dnnl_invalid_graph_op, q + "inputs: expected 1 or 2 (src, optionally global_scale), given 3"));
}

TEST(graph_computed_refusals, rule_fits_the_types) {
    const auto e8m0 = lt(4, dg::newer::e8m0), e4m3 = lt(4, dg::newer::f8_e4m3);
    EXPECT_TRUE(refuses({.scales = e8m0}, dnnl_invalid_data_type,
            "scales: expected data type f32, f16, bf16 or f8_e4m3 for scale_rule absmax, given f8_e8m0"));
    EXPECT_TRUE(refuses({.rule = "mx_even"}, dnnl_invalid_data_type,
            "scales: expected data type f8_e8m0 for scale_rule mx_even, given f32"));
    EXPECT_TRUE(refuses({.scales = e4m3, .zps = s8(5, {1}), .rule = "minmax"}, dnnl_invalid_data_type,
            "scales: expected data type f32, f16 or bf16 for scale_rule minmax, given f8_e4m3"));
    EXPECT_TRUE(refuses({.global_scale = f32(1, {1})}, dnnl_invalid_data_type,
            "scales: expected data type f8_e4m3 beside a global_scale, given f32"));
    EXPECT_TRUE(refuses({.scales = e4m3, .rule = "ggml_q8_0"}, dnnl_invalid_arguments,
            "quotient: expected divide or multiply_reciprocal for scales of f8_e4m3, given multiply_range"));
    EXPECT_TRUE(refuses({.scales = e8m0, .rule = "ggml_q8_0"}, dnnl_invalid_data_type,
            "scales: expected data type f32, f16 or bf16 for scale_rule ggml_q8_0, given f8_e8m0"));
    for (const auto &scales : {lt(4, type::undef), lt(4, type::f32), e4m3}) {
        EXPECT_TRUE(refuses({.global_scale = f32(1, {1}), .scales = scales, .zps = s8(5, {1}), .rule = "onnx"},
                dnnl_invalid_graph_op, "inputs: expected 1 (src) for scale_rule onnx, given 2"));
        EXPECT_TRUE(refuses({.global_scale = f32(1, {1}), .scales = scales, .rule = "mx_rceil"}, dnnl_invalid_graph_op,
                "inputs: expected 1 (src) for scale_rule mx_rceil, given 2"));
    }
    EXPECT_TRUE(refuses({.global_scale = f32(1, {1}), .scales = lt(4, type::undef), .quotient = "multiply_range"},
            dnnl_invalid_arguments,
            "quotient: expected divide or multiply_reciprocal for a global_scale, given multiply_range"));
    for (const auto &zps : {u8(5, {1}), s32(5, {1})})
        EXPECT_TRUE(refuses({.zps = zps, .rule = "minmax"}, dnnl_invalid_data_type,
                "zps: expected data type s8, that of dst, given "
                        + std::string(zps.get_data_type() == type::u8 ? "u8" : "s32")));
    EXPECT_TRUE(refuses({.dst = u8(3, {2, 3}), .zps = s32(5, {1}), .rule = "minmax"}, dnnl_invalid_data_type,
            "zps: expected data type u8, that of dst, given s32"));
    const std::string quotient = "quotient: expected divide or multiply_reciprocal for ";
    EXPECT_TRUE(refuses({.zps = s8(5, {1}), .rule = "minmax", .quotient = "multiply_range"}, dnnl_invalid_arguments,
            quotient + "scale_rule minmax, given multiply_range"));
    EXPECT_TRUE(refuses({.scales = e8m0, .rule = "mx_ceil", .quotient = "multiply_range"}, dnnl_invalid_arguments,
            quotient + "scale_rule mx_ceil, given multiply_range"));
    EXPECT_TRUE(refuses({.scales = e4m3, .quotient = "multiply_range"}, dnnl_invalid_arguments,
            quotient + "scales of f8_e4m3, given multiply_range"));
}

TEST(graph_computed_refusals, ports_have_types) {
    const auto refuses = [](const computed_op &op, const std::string &message) {
        return add_refuses(op.make(), dnnl_invalid_data_type, q + message);
    };
    EXPECT_TRUE(refuses({.src = s32(0, {2, 3})}, "src: expected data type f32, f16 or bf16, given s32"));
    EXPECT_TRUE(refuses({.global_scale = s8(1, {1}), .scales = dense(4, dg::newer::f8_e4m3, {1})},
            "global_scale: expected data type f32, given s8"));
    EXPECT_TRUE(refuses({.dst = s32(3, {2, 3})},
            "dst: expected data type s8, s4, f8_e4m3, f8_e5m2 or f4_e2m1 for scale_rule absmax, given s32"));
    EXPECT_TRUE(refuses({.dst = s32(3, {2, 3}), .narrow = true},
            "dst: expected data type s8 or s4 for scale_rule absmax, given s32"));
    EXPECT_TRUE(refuses({.dst = s32(3, {2, 3}), .zps = s8(5, {1}), .rule = "onnx"},
            "dst: expected data type s8, u8, s4 or u4 for scale_rule onnx, given s32"));
    EXPECT_TRUE(refuses({.scales = s8(4, {1})},
            "scales: expected data type f32, f16, bf16 or f8_e4m3 for scale_rule absmax, given s8"));
    EXPECT_TRUE(refuses({.global_scale = f32(1, {1}), .scales = s8(4, {1})},
            "scales: expected data type f8_e4m3 beside a global_scale, given s8"));
    EXPECT_TRUE(refuses({.dst = lt(3, type::undef), .zps = s32(5, {1}), .rule = "minmax"},
            "zps: expected data type s8, u8, s4 or u4 for scale_rule minmax, given s32"));
    EXPECT_TRUE(compile_refuses(computed_op {.scales = lt(4, type::undef)}, {f32(0, {2, 3})},
            {s8(3, {2, 3}), lt(4, type::undef)}, dnnl_invalid_data_type,
            "scales: expected data type f32, f16, bf16 or f8_e4m3 for scale_rule absmax, given undef"));
}

TEST(graph_computed_refusals, ports_have_shapes) {
    EXPECT_TRUE(refuses(
            {.scales = f32(4, {2})}, dnnl_invalid_shape, "scales: expected 1 element (qtype per_tensor), given 2"));
    EXPECT_TRUE(refuses({.scales = f32(4, {1, 1})}, dnnl_invalid_shape, "scales: expected a 1-D tensor, given rank 2"));
    EXPECT_TRUE(refuses({.scales = f32(4, {2}), .qtype = "per_channel"}, dnnl_invalid_shape,
            "scales: expected 3 elements (dims[1] of src), given 2"));
    EXPECT_TRUE(refuses({.scales = lt(4, type::f32), .zps = s8(5, {2}), .rule = "onnx", .qtype = "per_channel"},
            dnnl_invalid_shape, "zps: expected 3 elements (dims[1] of src), given 2"));
    EXPECT_TRUE(refuses({.scales = f32(4, {3}), .mask = 1}, dnnl_invalid_shape,
            "scales: expected 2 at dim 0 (dims[0] of src, 2, in groups of 1), given 3"));
    EXPECT_TRUE(refuses({.scales = f32(4, {2}), .qtype = "per_group", .group_shape = numbers {1, 3}},
            dnnl_invalid_shape, "scales: expected the rank of src, 2, given 1"));
    EXPECT_TRUE(refuses({.scales = f32(4, {2, 1}), .qtype = "per_group", .group_shape = numbers {1, 2}},
            dnnl_invalid_shape, "group_shape: expected a divisor of dims[1] of src, 3, given 2 at dim 1"));
    EXPECT_TRUE(refuses({.global_scale = f32(1, {2}), .scales = dense(4, dg::newer::f8_e4m3, {1})}, dnnl_invalid_shape,
            "global_scale: expected 1 element, given dims 2"));
    EXPECT_TRUE(refuses({.dst = s8(3, {2, 4})}, dnnl_invalid_shape, "dst: expected the dims of src, 2x3, given 2x4"));
}

TEST(graph_computed_refusals, ports_of_scales_and_zps_are_dense) {
    const auto refuses = [](const computed_op &op, const std::string &message) {
        return add_refuses(op.make(), dnnl_invalid_shape, q + message);
    };
    EXPECT_TRUE(refuses({.scales = lt(4, type::f32, dims {3}, dims {2}), .qtype = "per_channel"},
            "scales: expected stride 1, given 2"));
    EXPECT_TRUE(refuses({.scales = lt(4, type::f32, dims {2, 3}, dims {1, 2}), .mask = 3},
            "scales: expected dense row-major strides, given 1x2"));
    const auto strided = [](const dims &strides) {
        return changed(lt(4, type::f32, dims(strides.size(), 1), strides), [](auto &t) {
            for (int d = 0; d < t.ndims; ++d)
                t.dims[d] = unknown;
        });
    };
    EXPECT_TRUE(refuses({.scales = strided({2}), .qtype = "per_channel"}, "scales: expected stride 1, given 2"));
    EXPECT_TRUE(refuses({.scales = strided({1, 2}), .mask = 3}, "scales: expected dense row-major strides, given 1x2"));
    const computed_op any;
    EXPECT_TRUE(compile_refuses(any, {any.src},
            {any.dst, changed(any.scales, [](auto &t) { t.layout_type = dnnl_graph_layout_type_opaque; })},
            dnnl_invalid_arguments, "scales: expected layout strided or any, given opaque"));
}

TEST(graph_computed_refusals, ports_are_all_given_to_compile) {
    const computed_op op;
    EXPECT_TRUE(compile_refuses(op, {op.src}, {op.dst}, dnnl_invalid_arguments,
            "scales: expected logical tensor 4 among the outputs of compile, given 3"));
}

TEST(graph_computed_refusals, ports_have_logical_tensors_of_their_own) {
    EXPECT_TRUE(refuses(computed_op {.zps = s8(3, {1}), .rule = "minmax"}, dnnl_invalid_graph,
            "zps: expected a logical tensor of its own, given 3, which is dst too"));
    dg::graph graph(dg::engine::kind::cpu);
    graph.add_op(computed_op {}.make());
    dg::op other(8, kind::DynamicDequantize, {s8(20, {2}), f32(21, {1})}, {f32(4, {2})}, "dq");
    EXPECT_TRUE(fails([&] { graph.add_op(other); }, dnnl_invalid_graph,
            "op 8 'dq' (DynamicDequantize): dst: expected a logical tensor that no other op writes, given 4, which is "
            "scales of op 3 'q' (DynamicQuantize)"));
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

// Wrong inputs and outputs are refused at add_op where the error is visible there, else at compile.
#include <limits>

#include "graph.hpp"

namespace dynquant::test {
namespace {

const std::string q = "op 3 'q' (DynamicQuantize): ", dq = "op 3 'q' (DynamicDequantize): ";

TEST(graph_ports_refusals, port_count_includes_scales) {
    EXPECT_TRUE(add_refuses(dg::op(3, kind::DynamicQuantize, {f32(0, {2, 4})}, {u8(3, {2, 4})}, "q"),
            dnnl_invalid_graph_op, q + "inputs: expected 2 or 3 (src, scales, optionally zps), given 1"));
}

TEST(graph_ports_refusals, port_count_is_not_zero) {
    EXPECT_TRUE(add_refuses(dg::op(3, kind::DynamicQuantize, "q"), dnnl_invalid_graph_op,
            q + "inputs: expected 2 or 3 (src, scales, optionally zps), given 0"));
}

TEST(graph_ports_refusals, port_count_is_refused_with_too_many_inputs) {
    auto dynamic = dynamic_op {}.make();
    dynamic.add_input(s8(9, {4}));
    EXPECT_TRUE(add_refuses(
            dynamic, dnnl_invalid_graph_op, q + "inputs: expected 2 or 3 (src, scales, optionally zps), given 4"));
    auto with_scales = static_op {}.make();
    with_scales.add_input(f32(9, {4}));
    EXPECT_TRUE(
            add_refuses(with_scales, dnnl_invalid_graph_op, "op 3 'q' (Quantize): inputs: expected 1 (src), given 2"));
}

TEST(graph_ports_refusals, port_count_is_one_for_outputs) {
    EXPECT_TRUE(add_refuses(dg::op(3, kind::DynamicQuantize, dynamic_op {}.inputs(), {}, "q"), dnnl_invalid_graph_op,
            q + "outputs: expected 1 (dst), given 0"));
    auto two = dynamic_op {}.make();
    two.add_output(u8(9, {2, 4}));
    EXPECT_TRUE(add_refuses(two, dnnl_invalid_graph_op, q + "outputs: expected 1 (dst), given 2"));
}

TEST(graph_ports_refusals, port_type_of_dynamic_quantize_is_checked) {
    EXPECT_TRUE(refuses(dynamic_op {.src = s8(0, {2, 4})}, dnnl_invalid_data_type,
            "src: expected data type f32, f16 or bf16, given s8"));
    EXPECT_TRUE(refuses(dynamic_op {.scales = s32(1, {4})}, dnnl_invalid_data_type,
            "scales: expected data type f32, f16 or bf16, given s32"));
    EXPECT_TRUE(refuses(dynamic_op {.zps = f32(2, {4})}, dnnl_invalid_data_type,
            "zps: expected data type s8, u8, s32, s4 or u4, given f32"));
    EXPECT_TRUE(refuses(dynamic_op {.dst = s32(3, {2, 4})}, dnnl_invalid_data_type,
            "dst: expected data type s8, u8, s4 or u4, given s32"));
}

TEST(graph_ports_refusals, port_type_of_dynamic_dequantize_is_checked) {
    EXPECT_TRUE(refuses(dynamic_op {.which = kind::DynamicDequantize, .dst = f32(3, {2, 4})}, dnnl_invalid_data_type,
            "src: expected data type s8, u8, s4, u4, f8_e4m3, f8_e5m2 or f4_e2m1, given f32"));
    EXPECT_TRUE(refuses(dynamic_op {.which = kind::DynamicDequantize, .src = u8(0, {2, 4}), .dst = s8(3, {2, 4})},
            dnnl_invalid_data_type, "dst: expected data type f32, f16 or bf16, given s8"));
}

TEST(graph_ports_refusals, port_type_of_static_ops_is_checked) {
    const lt bf16(3, type::bf16, dims {2, 4}, layout::strided), s4(3, dg::newer::s4, dims {2, 4}, layout::strided);
    EXPECT_TRUE(refuses(static_op {.dst = s4}, dnnl_invalid_data_type,
            "dst: expected data type s8, u8, f8_e4m3 or f8_e5m2, given s4"));
    EXPECT_TRUE(refuses(static_op {.which = kind::Dequantize, .src = u8(0, {2, 4}), .dst = bf16},
            dnnl_invalid_data_type, "dst: expected data type f32, given bf16"));
}

TEST(graph_ports_refusals, port_type_of_zps_fits_the_quantized_type) {
    const lt s4(0, dg::newer::s4, dims {2, 4}, layout::strided), u4(2, dg::newer::u4, dims {4}, layout::strided);
    const auto dequantize = [](const lt &src, const lt &zps) {
        return dynamic_op {.which = kind::DynamicDequantize, .src = src, .zps = zps, .dst = f32(3, {2, 4})}.make();
    };
    EXPECT_NO_THROW(partition_of(dequantize(s4, s8(2, {4})))); // an extension of oneDNN's documentation
    EXPECT_TRUE(add_refuses(dequantize(u8(0, {2, 4}), u4), dnnl_invalid_data_type,
            dq + "zps: expected data type s8, u8 or s32 for u8, given u4"));
    EXPECT_TRUE(refuses(
            dynamic_op {.zps = u4}, dnnl_invalid_data_type, "zps: expected data type s8, u8 or s32 for u8, given u4"));
    EXPECT_NO_THROW(partition_of(dequantize(s4, u4)));
    EXPECT_NO_THROW(partition_of(dequantize(s4, s32(2, {4}))));
}

TEST(graph_ports_refusals, port_type_has_no_zps_beside_an_8_bit_float) {
    const lt f8(3, dg::newer::f8_e4m3, dims {2, 4}, layout::strided);
    EXPECT_TRUE(refuses(
            static_op {.dst = f8}, dnnl_invalid_arguments, "zps: expected none for f8_e4m3, given some of s32"));
    EXPECT_NO_THROW(partition_of(static_op {.dst = f8, .zps = {}}.make()));
}

TEST(graph_ports_refusals, port_type_may_be_undefined_until_compile) {
    const dynamic_op op {.dst = lt(3, type::undef, dims {2, 4}, layout::strided)};
    EXPECT_TRUE(compile_refuses(op, dnnl_invalid_data_type, "dst: expected data type s8, u8, s4 or u4, given undef"));
    EXPECT_NO_THROW(partition_of(op.make()).compile(op.inputs(), {s8(3, {2, 4})}, cpu()));
}

TEST(graph_ports_refusals, port_type_is_refused_when_unknown) {
    const auto none = static_cast<type>(999);
    EXPECT_TRUE(refuses(dynamic_op {.dst = lt(3, none, dims {2, 4}, layout::strided)}, dnnl_invalid_data_type,
            "dst: expected data type s8, u8, s4 or u4, given number 999"));
}

TEST(graph_ports_refusals, port_type_is_the_same_at_compile_as_at_add_op) {
    const dynamic_op op;
    EXPECT_TRUE(compile_refuses(op, op.inputs(), {s8(3, {2, 4})}, dnnl_invalid_data_type,
            "dst: expected data type u8, as the op has it, given s8"));
}

TEST(graph_ports_refusals, parameter_count_of_scales_is_that_of_channels) {
    for (const std::int64_t count : {0, 1, 3, 5})
        EXPECT_TRUE(refuses(dynamic_op {.scales = f32(1, {count})}, dnnl_invalid_shape,
                "scales: expected 4 elements (dims[1] of src), given " + std::to_string(count)));
}

TEST(graph_ports_refusals, parameter_count_of_zps_is_that_of_channels) {
    for (const std::int64_t count : {0, 1, 3, 5})
        EXPECT_TRUE(refuses(dynamic_op {.zps = s8(2, {count})}, dnnl_invalid_shape,
                "zps: expected 4 elements (dims[1] of src), given " + std::to_string(count)));
}

TEST(graph_ports_refusals, parameter_count_follows_the_axis) {
    EXPECT_TRUE(refuses(
            dynamic_op {.axis = -2}, dnnl_invalid_shape, "scales: expected 2 elements (dims[0] of src), given 4"));
}

TEST(graph_ports_refusals, parameter_count_is_one_per_tensor) {
    EXPECT_TRUE(refuses(dynamic_op {.qtype = "per_tensor"}, dnnl_invalid_shape,
            "scales: expected 1 element (qtype per_tensor), given 4"));
    EXPECT_TRUE(refuses(dynamic_op {.scales = f32(1, {1}), .qtype = "per_tensor"}, dnnl_invalid_shape,
            "zps: expected 1 element (qtype per_tensor), given 4"));
}

TEST(graph_ports_refusals, parameter_count_is_checked_against_dst_when_src_is_unknown) {
    EXPECT_TRUE(refuses(dynamic_op {.src = lt(0, type::f32), .scales = f32(1, {3}), .zps = {}}, dnnl_invalid_shape,
            "scales: expected 4 elements (dims[1] of src), given 3"));
}

TEST(graph_ports_refusals, parameter_count_is_equal_for_scales_and_zps_while_the_channels_are_unknown) {
    const dynamic_op op {.src = lt(0, type::f32), .zps = s8(2, {3}), .dst = lt(3, type::u8)};
    EXPECT_TRUE(refuses(op, dnnl_invalid_shape, "zps: expected 4 elements (as many as scales), given 3"));
}

TEST(graph_ports_refusals, parameter_count_is_refused_at_compile_when_it_comes_then) {
    const dynamic_op op {.scales = lt(1, type::f32), .zps = {}};
    EXPECT_TRUE(compile_refuses(op, {op.src, f32(1, {3})}, {op.dst}, dnnl_invalid_shape,
            "scales: expected 4 elements (dims[1] of src), given 3"));
}

TEST(graph_ports_refusals, parameter_shape_is_one_dimensional) {
    EXPECT_TRUE(refuses(
            dynamic_op {.scales = f32(1, {1, 4})}, dnnl_invalid_shape, "scales: expected a 1-D tensor, given rank 2"));
    EXPECT_TRUE(
            refuses(dynamic_op {.zps = s8(2, {4, 1})}, dnnl_invalid_shape, "zps: expected a 1-D tensor, given rank 2"));
    EXPECT_TRUE(refuses(dynamic_op {.scales = f32(1, {}), .zps = {}, .qtype = "per_tensor"}, dnnl_invalid_shape,
            "scales: expected a 1-D tensor, given rank 0"));
}

TEST(graph_ports_refusals, parameter_shape_is_dense) {
    const lt sparse(1, type::f32, dims {4}, dims {2});
    EXPECT_TRUE(refuses(dynamic_op {.scales = sparse}, dnnl_invalid_shape, "scales: expected stride 1, given 2"));
    const lt broadcast(2, type::s8, dims {4}, dims {0});
    EXPECT_TRUE(refuses(dynamic_op {.zps = broadcast}, dnnl_invalid_shape, "zps: expected stride 1, given 0"));
}

TEST(graph_ports_refusals, parameter_shape_may_have_any_stride_for_one_element) {
    const dynamic_op op {.scales = lt(1, type::f32, dims {1}, dims {7}), .zps = {}, .qtype = "per_tensor"};
    EXPECT_NO_THROW(partition_of(op.make()).compile(op.inputs(), {op.dst}, cpu()));
}

TEST(graph_ports_refusals, port_shape_has_the_rank_of_src_in_dst) {
    EXPECT_TRUE(refuses(
            dynamic_op {.dst = u8(3, {2, 4, 1})}, dnnl_invalid_shape, "dst: expected the rank of src, 2, given 3"));
}

TEST(graph_ports_refusals, port_shape_has_the_dims_of_src_in_dst) {
    EXPECT_TRUE(refuses(
            dynamic_op {.dst = u8(3, {3, 4})}, dnnl_invalid_shape, "dst: expected the dims of src, 2x4, given 3x4"));
    const lt half_known(3, type::u8, dims {unknown, 5}, layout::strided);
    EXPECT_TRUE(refuses(
            dynamic_op {.dst = half_known}, dnnl_invalid_shape, "dst: expected the dims of src, 2x4, given ?x5"));
}

TEST(graph_ports_refusals, port_shape_has_the_dims_of_src_in_dst_at_compile) {
    const dynamic_op op {.dst = lt(3, type::u8)};
    EXPECT_TRUE(compile_refuses(
            op, op.inputs(), {u8(3, {4, 2})}, dnnl_invalid_shape, "dst: expected the dims of src, 2x4, given 4x2"));
}

TEST(graph_ports_refusals, port_shape_is_refused_with_negative_dims) {
    EXPECT_TRUE(refuses(dynamic_op {.src = f32(0, {-2, 4})}, dnnl_invalid_shape,
            "src: expected dims of 0 or more, given -2 at dim 0"));
    EXPECT_TRUE(refuses(dynamic_op {.dst = u8(3, {2, -1})}, dnnl_invalid_shape,
            "dst: expected dims of 0 or more, given -1 at dim 1"));
    EXPECT_TRUE(refuses(dynamic_op {.scales = f32(1, {-4})}, dnnl_invalid_shape,
            "scales: expected dims of 0 or more, given -4 at dim 0"));
    EXPECT_TRUE(refuses(dynamic_op {.src = f32(0, {unknown + 1, 4})}, dnnl_invalid_shape,
            "src: expected dims of 0 or more, given -9223372036854775807 at dim 0"));
}

TEST(graph_ports_refusals, port_shape_is_refused_with_negative_strides) {
    EXPECT_TRUE(refuses(dynamic_op {.src = lt(0, type::f32, dims {2, 4}, dims {-4, 1})}, dnnl_invalid_shape,
            "src: expected strides of 0 or more, given -4 at dim 0"));
}

TEST(graph_ports_refusals, port_shape_is_of_rank_0_to_12) {
    for (const int rank : {13, -2, std::numeric_limits<int>::max()}) {
        const auto src = changed(f32(0, {2, 4}), [&](auto &t) { t.ndims = rank; });
        EXPECT_TRUE(refuses(dynamic_op {.src = src}, dnnl_invalid_shape,
                "src: expected rank 0 to 12, given " + std::to_string(rank)));
    }
}

TEST(graph_ports_refusals, port_shape_is_refused_when_dst_overlaps_itself) {
    const lt dst(3, type::u8, dims {2, 4}, dims {3, 1});
    EXPECT_TRUE(refuses(dynamic_op {.dst = dst}, dnnl_invalid_shape,
            "dst: expected strides whose elements do not overlap, given 3x1 for dims 2x4"));
    EXPECT_TRUE(refuses(dynamic_op {.src = lt(0, type::f32), .dst = dst}, dnnl_invalid_shape,
            "dst: expected strides whose elements do not overlap, given 3x1 for dims 2x4"));
    const dynamic_op late {.dst = lt(3, type::u8)};
    EXPECT_TRUE(compile_refuses(late, late.inputs(), {dst}, dnnl_invalid_shape,
            "dst: expected strides whose elements do not overlap, given 3x1 for dims 2x4"));
}

TEST(graph_ports_refusals, port_shape_is_refused_when_dst_is_broadcast) {
    const lt dst(3, type::u8, dims {2, 4}, dims {0, 1});
    EXPECT_TRUE(refuses(dynamic_op {.dst = dst}, dnnl_invalid_shape,
            "dst: expected strides whose elements do not overlap, given 0x1 for dims 2x4"));
}

TEST(graph_ports_refusals, port_shape_is_refused_when_the_size_overflows) {
    constexpr std::int64_t huge = std::int64_t {1} << 40;
    const dynamic_op op {.src = lt(0, type::f32, dims {huge, huge}, layout::any),
            .scales = f32(1, {1}),
            .zps = {},
            .dst = lt(3, type::u8, dims {huge, huge}, layout::any),
            .qtype = "per_tensor"};
    EXPECT_TRUE(refuses(op, dnnl_invalid_shape,
            "src: expected a size in bytes that fits in 62 bits, given dims 1099511627776x1099511627776 of f32"));
}

TEST(graph_ports_refusals, port_shape_is_refused_when_strides_overflow) {
    constexpr std::int64_t far = std::numeric_limits<std::int64_t>::max() / 2;
    EXPECT_TRUE(refuses(dynamic_op {.src = lt(0, type::f32, dims {2, 4}, dims {far, 1})}, dnnl_invalid_shape,
            "src: expected a size in bytes that fits in 62 bits, given dims 2x4 of f32"));
}

TEST(graph_ports_refusals, unknown_at_compile_dims_of_src_are_refused) {
    const dynamic_op op {.src = lt(0, type::f32, dims {unknown, 4}, layout::strided)};
    EXPECT_TRUE(compile_refuses(op, dnnl_invalid_shape, "src: expected known dims, given ?x4"));
}

TEST(graph_ports_refusals, unknown_at_compile_rank_of_src_is_refused) {
    const dynamic_op op {.src = lt(0, type::f32, layout::strided)};
    EXPECT_TRUE(compile_refuses(op, dnnl_invalid_shape, "src: expected known dims, given ?"));
}

TEST(graph_ports_refusals, unknown_at_compile_strides_of_src_are_refused) {
    const dynamic_op op {.src = lt(0, type::f32, dims {2, 4}, dims {unknown, 1})};
    EXPECT_TRUE(compile_refuses(op, dnnl_invalid_shape, "src: expected known strides, given unknown ones"));
}

TEST(graph_ports_refusals, unknown_at_compile_some_strides_of_dst_are_refused) {
    const dynamic_op op {.dst = lt(3, type::u8, dims {2, 4}, dims {unknown, 1})};
    EXPECT_TRUE(compile_refuses(op, dnnl_invalid_shape, "dst: expected all strides or none, given 1 of 2"));
}

TEST(graph_ports_refusals, unknown_at_compile_shapes_of_parameters_are_refused) {
    const dynamic_op no_scales {.scales = lt(1, type::f32, 1, layout::strided)};
    EXPECT_TRUE(compile_refuses(no_scales, dnnl_invalid_shape, "scales: expected known dims, given ?"));
    const dynamic_op no_zps {.zps = lt(2, type::s8)};
    EXPECT_TRUE(compile_refuses(no_zps, dnnl_invalid_shape, "zps: expected known dims, given ?"));
}

TEST(graph_ports_refusals, layout_at_compile_of_inputs_is_strided) {
    for (const auto &[given, name] : {std::pair {layout::any, std::string("any")}, {layout::undef, "undef"}}) {
        const dynamic_op src {.src = lt(0, type::f32, dims {2, 4}, given)};
        EXPECT_TRUE(compile_refuses(src, dnnl_invalid_arguments, "src: expected layout strided, given " + name));
        const dynamic_op scales {.scales = lt(1, type::f32, dims {4}, given)};
        EXPECT_TRUE(compile_refuses(scales, dnnl_invalid_arguments, "scales: expected layout strided, given " + name));
    }
}

TEST(graph_ports_refusals, layout_at_compile_is_refused_when_opaque) {
    const dynamic_op src {.src = lt(0, type::f32, dims {2, 4}, std::size_t {5})};
    EXPECT_TRUE(compile_refuses(src, dnnl_invalid_arguments, "src: expected layout strided, given opaque"));
    const dynamic_op dst {.dst = lt(3, type::u8, dims {2, 4}, std::size_t {5})};
    EXPECT_TRUE(compile_refuses(dst, dnnl_invalid_arguments, "dst: expected layout strided or any, given opaque"));
}

TEST(graph_ports_refusals, port_at_compile_is_refused_when_missing) {
    const dynamic_op op;
    EXPECT_TRUE(compile_refuses(op, {op.src, *op.zps}, {op.dst}, dnnl_invalid_arguments,
            "scales: expected logical tensor 1 among the inputs of compile, given 0, 2"));
    EXPECT_TRUE(compile_refuses(op, op.inputs(), {}, dnnl_invalid_arguments,
            "dst: expected logical tensor 3 among the outputs of compile, given none"));
}

} // namespace
} // namespace dynquant::test

// Wrong inputs and outputs are refused at add_op where the error is visible there, else at compile.
#include <limits>

#include "graph.hpp"

namespace dynquant::test {
namespace {

const lt undefined_src(0, type::f32), undefined_dst(3, type::u8); // of unknown rank

lt with_layout(std::size_t id, type t, const dims &shape, layout l) {
    return {id, t, shape, l};
}

TEST(graph_ports_refusals, port_count) {
    EXPECT_TRUE(add_refuses(dg::op(3, kind::DynamicQuantize, {f32(0, {2, 4})}, {u8(3, {2, 4})}, "q"),
            dnnl_invalid_graph_op, q + "inputs: expected 2 or 3 (src, scales, optionally zps), given 1"));
    const names of_inputs {"inputs", "2 or 3 (src, scales, optionally zps)", "0"};
    EXPECT_TRUE(add_refuses(dg::op(3, kind::DynamicQuantize, "q"), dnnl_invalid_graph_op, of_inputs, q));
    auto dynamic = dynamic_op {}.make();
    dynamic.add_input(s8(9, {4}));
    EXPECT_TRUE(add_refuses(dynamic, dnnl_invalid_graph_op, names {"inputs", "2 or 3", "4"}, q));
    auto with_scales = static_op {}.make();
    with_scales.add_input(f32(9, {4}));
    EXPECT_TRUE(
            add_refuses(with_scales, dnnl_invalid_graph_op, names {"inputs", "1 (src)", "2"}, "op 3 'q' (Quantize): "));
    const dg::op no_output(3, kind::DynamicQuantize, dynamic_op {}.inputs(), {}, "q");
    EXPECT_TRUE(add_refuses(no_output, dnnl_invalid_graph_op, names {"outputs", "1 (dst)", "0"}, q));
    auto two = dynamic_op {}.make();
    two.add_output(u8(9, {2, 4}));
    EXPECT_TRUE(add_refuses(two, dnnl_invalid_graph_op, names {"outputs", "1 (dst)", "2"}, q));
}

TEST(graph_ports_refusals, port_type) {
    const auto s4 = dense(0, dg::newer::s4, {2, 4}), u4 = dense(2, dg::newer::u4, {4});
    const auto dequantize = [](const lt &src, const lt &dst, std::optional<lt> zps = s8(2, {4})) {
        return dynamic_op {.which = kind::DynamicDequantize, .src = src, .zps = zps, .dst = dst};
    };
    const auto real = f32(3, {2, 4});
    expect_refused({
            {dynamic_op {.src = s8(0, {2, 4})}, bad_type, {"src", "f32, f16 or bf16", "s8"}},
            {dynamic_op {.scales = s32(1, {4})}, bad_type, {"scales", "f32, f16 or bf16", "s32"}},
            {dynamic_op {.zps = f32(2, {4})}, bad_type, {"zps", "s8, u8, s32, s4 or u4", "f32"}},
            {dynamic_op {.dst = s32(3, {2, 4})}, bad_type, {"dst", "s8, u8, s4 or u4", "s32"}},
            {dynamic_op {.dst = dense(3, static_cast<type>(999), {2, 4})}, bad_type, {"dst", "u4", "number 999"}},
            {dequantize(f32(0, {2, 4}), real), bad_type, {"src", "s8, u8, s4, u4, f8_e4m3, f8_e5m2 or f4_e2m1", "f32"}},
            {dequantize(u8(0, {2, 4}), s8(3, {2, 4})), bad_type, {"dst", "f32, f16 or bf16", "s8"}},
            {static_op {.dst = dense(3, dg::newer::s4, {2, 4})}, bad_type, {"dst", "s8, u8, f8_e4m3 or f8_e5m2", "s4"}},
            {static_op {.which = kind::Dequantize, .src = u8(0, {2, 4}), .dst = dense(3, type::bf16, {2, 4})}, bad_type,
                    {"dst", "f32", "bf16"}},
            {dequantize(u8(0, {2, 4}), real, u4), bad_type, {"zps", "s8, u8 or s32 for u8", "u4"}},
            {dynamic_op {.zps = u4}, bad_type, {"zps", "s8, u8 or s32 for u8", "u4"}},
            {static_op {.dst = dense(3, dg::newer::f8_e4m3, {2, 4})}, bad_argument,
                    {"zps", "none for f8_e4m3", "some of s32"}},
    });
    EXPECT_NO_THROW(partition_of(static_op {.dst = dense(3, dg::newer::f8_e4m3, {2, 4}), .zps = {}}.make()));
    for (const auto &zps : {s8(2, {4}), u4, s32(2, {4})}) // s8: an extension of oneDNN's documentation
        EXPECT_NO_THROW(partition_of(dequantize(s4, real, zps).make()));
}

TEST(graph_ports_refusals, port_type_at_compile) {
    const dynamic_op open {.dst = dense(3, type::undef, {2, 4})}, closed;
    expect_refused_by_compile({
            {open, bad_type, {"dst", "s8, u8, s4 or u4", "undef"}},
            {closed, closed.inputs(), {s8(3, {2, 4})}, bad_type, {"dst", "u8, as the op has it", "s8"}},
    });
    EXPECT_NO_THROW(partition_of(open.make()).compile(open.inputs(), {s8(3, {2, 4})}, cpu()));
}

TEST(graph_ports_refusals, parameter_count) {
    for (const std::int64_t count : {0, 1, 3, 5})
        expect_refused({
                {dynamic_op {.scales = f32(1, {count})}, bad_shape,
                        {"scales", "4 elements (dims[1] of src)", std::to_string(count)}},
                {dynamic_op {.zps = s8(2, {count})}, bad_shape,
                        {"zps", "4 elements (dims[1] of src)", std::to_string(count)}},
        });
    expect_refused({
            {dynamic_op {.axis = -2}, bad_shape, {"scales", "2 elements (dims[0] of src)", "4"}},
            {dynamic_op {.qtype = "per_tensor"}, bad_shape, {"scales", "1 element (qtype per_tensor)", "4"}},
            {dynamic_op {.scales = f32(1, {1}), .qtype = "per_tensor"}, bad_shape,
                    {"zps", "1 element (qtype per_tensor)", "4"}},
            {dynamic_op {.src = undefined_src, .scales = f32(1, {3}), .zps = {}}, bad_shape,
                    {"scales", "4 elements (dims[1] of src)", "3"}},
            {dynamic_op {.src = undefined_src, .zps = s8(2, {3}), .dst = undefined_dst}, bad_shape,
                    {"zps", "4 elements (as many as scales)", "3"}},
    });
    const dynamic_op late {.scales = lt(1, type::f32), .zps = {}};
    expect_refused_by_compile(
            {{late, {late.src, f32(1, {3})}, {late.dst}, bad_shape, {"scales", "4 elements (dims[1] of src)", "3"}}});
}

TEST(graph_ports_refusals, parameter_shape) {
    expect_refused({
            {dynamic_op {.scales = f32(1, {1, 4})}, bad_shape, {"scales", "1-D", "rank 2"}},
            {dynamic_op {.zps = s8(2, {4, 1})}, bad_shape, {"zps", "1-D", "rank 2"}},
            {dynamic_op {.scales = f32(1, {}), .zps = {}, .qtype = "per_tensor"}, bad_shape,
                    {"scales", "1-D", "rank 0"}},
            {dynamic_op {.scales = lt(1, type::f32, dims {4}, dims {2})}, bad_shape, {"scales", "stride 1", "2"}},
            {dynamic_op {.zps = lt(2, type::s8, dims {4}, dims {0})}, bad_shape, {"zps", "stride 1", "0"}},
    });
    const dynamic_op one {.scales = lt(1, type::f32, dims {1}, dims {7}), .zps = {}, .qtype = "per_tensor"};
    EXPECT_NO_THROW(partition_of(one.make()).compile(one.inputs(), {one.dst}, cpu()));
}

TEST(graph_ports_refusals, port_shape) {
    constexpr std::int64_t huge = std::int64_t {1} << 40, far = std::numeric_limits<std::int64_t>::max() / 2;
    const auto strided = [](std::size_t id, type t, const dims &strides) { return lt(id, t, dims {2, 4}, strides); };
    const lt overlapping = strided(3, type::u8, {3, 1});
    const names overlap {"dst", "strides whose elements do not overlap", "3x1 for dims 2x4"};
    const dynamic_op late {.dst = undefined_dst};
    for (const int rank : {13, -2, std::numeric_limits<int>::max()})
        expect_refused({{dynamic_op {.src = changed(f32(0, {2, 4}), [&](auto &t) { t.ndims = rank; })}, bad_shape,
                {"src", "rank 0 to 12", std::to_string(rank)}}});
    expect_refused({
            {dynamic_op {.dst = u8(3, {2, 4, 1})}, bad_shape, {"dst", "the rank of src, 2", "3"}},
            {dynamic_op {.dst = u8(3, {3, 4})}, bad_shape, {"dst", "the dims of src, 2x4", "3x4"}},
            {dynamic_op {.dst = u8(3, {unknown, 5})}, bad_shape, {"dst", "the dims of src, 2x4", "?x5"}},
            {dynamic_op {.src = f32(0, {-2, 4})}, bad_shape, {"src", "0 or more", "-2 at dim 0"}},
            {dynamic_op {.dst = u8(3, {2, -1})}, bad_shape, {"dst", "0 or more", "-1 at dim 1"}},
            {dynamic_op {.scales = f32(1, {-4})}, bad_shape, {"scales", "0 or more", "-4 at dim 0"}},
            {dynamic_op {.src = f32(0, {unknown + 1, 4})}, bad_shape,
                    {"src", "0 or more", "-9223372036854775807 at dim 0"}},
            {dynamic_op {.src = strided(0, type::f32, {-4, 1})}, bad_shape, {"src", "0 or more", "-4 at dim 0"}},
            {dynamic_op {.dst = overlapping}, bad_shape, overlap},
            {dynamic_op {.src = undefined_src, .dst = overlapping}, bad_shape, overlap},
            {dynamic_op {.dst = strided(3, type::u8, {0, 1})}, bad_shape, {"dst", "not overlap", "0x1 for dims 2x4"}},
            {dynamic_op {.src = with_layout(0, type::f32, {huge, huge}, layout::any),
                     .scales = f32(1, {1}),
                     .zps = {},
                     .dst = with_layout(3, type::u8, {huge, huge}, layout::any),
                     .qtype = "per_tensor"},
                    bad_shape, {"src", "62 bits", "dims 1099511627776x1099511627776 of f32"}},
            {dynamic_op {.src = strided(0, type::f32, {far, 1})}, bad_shape, {"src", "62 bits", "dims 2x4 of f32"}},
    });
    expect_refused_by_compile({
            {late, late.inputs(), {u8(3, {4, 2})}, bad_shape, {"dst", "the dims of src, 2x4", "4x2"}},
            {late, late.inputs(), {overlapping}, bad_shape, overlap},
    });
}

TEST(graph_ports_refusals, what_compile_must_know) {
    const dynamic_op all;
    expect_refused_by_compile({
            {dynamic_op {.src = f32(0, {unknown, 4})}, bad_shape, {"src", "known dims", "?x4"}},
            {dynamic_op {.src = lt(0, type::f32, layout::strided)}, bad_shape, {"src", "known dims", "?"}},
            {dynamic_op {.src = lt(0, type::f32, dims {2, 4}, dims {unknown, 1})}, bad_shape,
                    {"src", "known strides", "unknown"}},
            {dynamic_op {.dst = lt(3, type::u8, dims {2, 4}, dims {unknown, 1})}, bad_shape,
                    {"dst", "all strides or none", "1 of 2"}},
            {dynamic_op {.scales = lt(1, type::f32, 1, layout::strided)}, bad_shape, {"scales", "known dims", "?"}},
            {dynamic_op {.zps = lt(2, type::s8)}, bad_shape, {"zps", "known dims", "?"}},
            {all, {all.src, *all.zps}, {all.dst}, bad_argument,
                    {"scales", "logical tensor 1 among the inputs", "0, 2"}},
            {all, all.inputs(), {}, bad_argument, {"dst", "logical tensor 3 among the outputs", "none"}},
    });
}

TEST(graph_ports_refusals, layout_at_compile) {
    for (const auto &[given, name] : {std::pair {layout::any, std::string("any")}, {layout::undef, "undef"}})
        expect_refused_by_compile({
                {dynamic_op {.src = with_layout(0, type::f32, {2, 4}, given)}, bad_argument, {"src", "strided", name}},
                {dynamic_op {.scales = with_layout(1, type::f32, {4}, given)}, bad_argument,
                        {"scales", "strided", name}},
        });
    const std::size_t opaque = 5;
    expect_refused_by_compile({
            {dynamic_op {.src = lt(0, type::f32, dims {2, 4}, opaque)}, bad_argument, {"src", "strided", "opaque"}},
            {dynamic_op {.dst = lt(3, type::u8, dims {2, 4}, opaque)}, bad_argument,
                    {"dst", "strided or any", "opaque"}},
    });
}

} // namespace
} // namespace dynquant::test

// execute allocates nothing. This is a separate program, because counting_new.cpp replaces operator new.
#include "support/counting_new.hpp"
#include "support/graph.hpp"

namespace dynquant::test {
namespace {

/// The number of allocations in ten calls. Buffers of a thread may grow in the calls before.
long allocations_of(const dg::compiled_partition &compiled, const std::vector<dg::tensor> &inputs,
        const std::vector<dg::tensor> &outputs) {
    dg::stream stream(cpu());
    for (int i = 0; i < 3; ++i)
        compiled.execute(stream, inputs, outputs);
    const long before = allocations();
    for (int i = 0; i < 10; ++i)
        compiled.execute(stream, inputs, outputs);
    return allocations() - before;
}

TEST(graph_no_allocation, is_measured_by_a_counter_that_counts) {
    const long before = allocations();
    ::operator delete(::operator new(100)); // the compiler may remove a new expression
    EXPECT_EQ(allocations() - before, 1);
}

TEST(graph_no_allocation, in_a_dynamic_op_per_channel) {
    constexpr std::int64_t rows = 4, channels = 64;
    const dynamic_op op {.src = f32(0, {rows, channels}),
            .scales = f32(1, {channels}),
            .zps = s8(2, {channels}),
            .dst = u8(3, {rows, channels})};
    std::vector<float> src(rows * channels, 3), scales(channels, 2);
    std::vector<std::int8_t> zps(channels, 1);
    std::vector<std::uint8_t> dst(rows * channels);
    const auto compiled = partition_of(op.make()).compile(op.inputs(), {op.dst}, cpu());
    EXPECT_EQ(allocations_of(compiled, {tensor_of(op.src, src), tensor_of(op.scales, scales), tensor_of(*op.zps, zps)},
                      {tensor_of(op.dst, dst)}),
            0);
    EXPECT_EQ(dst, std::vector<std::uint8_t>(rows * channels, 2)); // 2.5, a tie
}

TEST(graph_no_allocation, in_a_static_op_per_tensor) {
    static_op op {.src = f32(0, {256}), .dst = u8(3, {256}), .qtype = "per_tensor", .scales = {0.5f}, .zps = {}};
    std::vector<float> src(256, 1);
    std::vector<std::uint8_t> dst(256);
    const auto compiled = partition_of(op.make()).compile({op.src}, {op.dst}, cpu());
    EXPECT_EQ(allocations_of(compiled, {tensor_of(op.src, src)}, {tensor_of(op.dst, dst)}), 0);
    EXPECT_EQ(dst, std::vector<std::uint8_t>(256, 2));
}

/// Dequantize of both sides, by row and by column, MatMul with a bias, Multiply, and DynamicQuantize of the result. The
/// run gives all scales and zps.
struct layer_of_ports {
    static constexpr std::int64_t rows = 5, inner = 48, columns = 20;
    lt x = u8(0, {rows, inner}), x_scales = f32(1, {rows}), x_zps = s32(2, {rows}), x_real = f32(3, {rows, inner});
    lt w = {10, type::s8, {inner, columns}, layout::strided, lt::property_type::constant};
    lt w_scales = f32(11, {columns}), w_zps = s32(12, {columns}), w_real = f32(13, {inner, columns});
    lt bias = f32(20, {columns}), sums = f32(21, {rows, columns}), factor = f32(22, {1}),
       scaled = f32(23, {rows, columns});
    lt y_scale = f32(24, {1}), y_zp = s32(25, {1}), y = s8(26, {rows, columns});

    dg::partition partition() const {
        dg::graph graph(dg::engine::kind::cpu);
        dg::op dx(100, kind::DynamicDequantize, {x, x_scales, x_zps}, {x_real}, "dx");
        dg::op dw(101, kind::DynamicDequantize, {w, w_scales, w_zps}, {w_real}, "dw");
        graph.add_op(dx.set_attr<std::string>(attr::qtype, "per_channel").set_attr<std::int64_t>(attr::axis, 0));
        graph.add_op(dw.set_attr<std::string>(attr::qtype, "per_channel").set_attr<std::int64_t>(attr::axis, 1));
        graph.add_op(dg::op(102, kind::MatMul, {x_real, w_real, bias}, {sums}, "product"));
        graph.add_op(dg::op(103, kind::Multiply, {sums, factor}, {scaled}, "times"));
        graph.add_op(dg::op(104, kind::DynamicQuantize, {scaled, y_scale, y_zp}, {y}, "qy"));
        graph.finalize();
        return graph.get_partitions().at(0);
    }
};

TEST(graph_no_allocation, in_a_layer_whose_weights_are_constant) {
    const layer_of_ports l;
    constexpr auto rows = std::size_t {l.rows}, inner = std::size_t {l.inner}, columns = std::size_t {l.columns};
    std::vector<std::uint8_t> x(rows * inner, 5);
    std::vector<std::int8_t> w(inner * columns, 3), y(rows * columns);
    std::vector<float> x_scales(rows, 0.5F), w_scales(columns, 0.25F), bias(columns, 1), factor = {2}, y_scale = {1};
    std::vector<std::int32_t> x_zps(rows, 4), w_zps(columns, 1), y_zp = {-7};
    const std::vector<lt> inputs = {
            l.x, l.x_scales, l.x_zps, l.w, l.w_scales, l.w_zps, l.bias, l.factor, l.y_scale, l.y_zp};
    const auto compiled = l.partition().compile(inputs, {l.y}, cpu());
    EXPECT_EQ(allocations_of(compiled,
                      {tensor_of(l.x, x), tensor_of(l.x_scales, x_scales), tensor_of(l.x_zps, x_zps), tensor_of(l.w, w),
                              tensor_of(l.w_scales, w_scales), tensor_of(l.w_zps, w_zps), tensor_of(l.bias, bias),
                              tensor_of(l.factor, factor), tensor_of(l.y_scale, y_scale), tensor_of(l.y_zp, y_zp)},
                      {tensor_of(l.y, y)}),
            0);
    EXPECT_EQ(y, std::vector<std::int8_t>(rows * columns, 19)); // (48 * 1 * 2 * 0.125 + 1) * 2 - 7
}

TEST(graph_no_allocation, in_a_convolution_whose_weights_are_constant) {
    for (const bool is_ncx : {false, true}) {
        const dims of_x = is_ncx ? dims {2, 4, 6, 7} : dims {2, 6, 7, 4},
                   of_y = is_ncx ? dims {2, 8, 6, 7} : dims {2, 6, 7, 8};
        const lt x = u8(0, of_x), x_scale = f32(1, {1}), x_zp = s32(2, {1}), x_real = f32(3, of_x);
        const lt w(10, type::s8, {8, 4, 3, 3}, layout::strided, lt::property_type::constant);
        const lt w_scale = f32(11, {1}), w_real = f32(13, {8, 4, 3, 3}), y = f32(20, of_y);
        dg::op convolution(102, kind::Convolution, {x_real, w_real}, {y}, "convolution");
        using numbers = std::vector<std::int64_t>;
        convolution.set_attr(attr::strides, numbers {1, 1}).set_attr(attr::dilations, numbers {1, 1});
        convolution.set_attr(attr::pads_begin, numbers {1, 1}).set_attr(attr::pads_end, numbers {1, 1});
        convolution.set_attr<std::string>(attr::data_format, is_ncx ? "NCX" : "NXC");
        convolution.set_attr<std::string>(attr::weights_format, "OIX");
        dg::graph graph(dg::engine::kind::cpu);
        graph.add_op(dg::op(100, kind::DynamicDequantize, {x, x_scale, x_zp}, {x_real}, "dx"));
        graph.add_op(dg::op(101, kind::DynamicDequantize, {w, w_scale}, {w_real}, "dw"));
        graph.add_op(convolution);
        graph.finalize();
        const auto partitions = graph.get_partitions();
        ASSERT_EQ(partitions.size(), 1U);
        std::vector<std::uint8_t> from(2 * 4 * 6 * 7, 5);
        std::vector<std::int8_t> weights(8 * 4 * 9, 3);
        std::vector<float> scale_of_x {0.5F}, scale_of_w {0.25F}, to(2 * 8 * 6 * 7);
        std::vector<std::int32_t> zp {4};
        EXPECT_EQ(allocations_of(partitions.front().compile({x, x_scale, x_zp, w, w_scale}, {y}, cpu()),
                          {tensor_of(x, from), tensor_of(x_scale, scale_of_x), tensor_of(x_zp, zp),
                                  tensor_of(w, weights), tensor_of(w_scale, scale_of_w)},
                          {tensor_of(y, to)}),
                0);
        EXPECT_EQ(to.front(), 4 * 4 * 3 * 0.125F);             // a corner has four taps
        EXPECT_EQ(to[is_ncx ? 8 : 8 * 8], 4 * 9 * 3 * 0.125F); // the second column of the second line
    }
}

TEST(graph_no_allocation, in_a_layer_whose_constant_weights_stay_narrow) {
    const lt x = f32(0, {5, 32}), scale = f32(11, {1}), real = f32(13, {32, 8}), product = f32(20, {5, 8}),
             summand = f32(21, {5, 8}), y = f32(22, {5, 8});
    const lt w(10, type::s8, {32, 8}, layout::strided, lt::property_type::constant);
    dg::graph graph(dg::engine::kind::cpu);
    graph.add_op(dg::op(101, kind::DynamicDequantize, {w, scale}, {real}, "dw"));
    graph.add_op(dg::op(102, kind::MatMul, {x, real}, {product}, "product"));
    graph.add_op(dg::op(103, kind::Add, {product, summand}, {y}, "add"));
    graph.finalize();
    const auto partitions = graph.get_partitions();
    ASSERT_EQ(partitions.size(), 1U);
    std::vector<float> from(5 * 32, 3), half = {0.5F}, added(5 * 8, 7), to(5 * 8);
    std::vector<std::int8_t> weights(32 * 8, 2);
    EXPECT_EQ(allocations_of(partitions.front().compile({x, w, scale, summand}, {y}, cpu()),
                      {tensor_of(x, from), tensor_of(w, weights), tensor_of(scale, half), tensor_of(summand, added)},
                      {tensor_of(y, to)}),
            0);
    EXPECT_EQ(to, std::vector<float>(5 * 8, 32 * 3 * 2 * 0.5F + 7));
}

TEST(graph_no_allocation, in_a_layer_between_floats_of_16_bits) {
    const auto f16 = [](std::size_t id, const std::vector<std::int64_t> &extents, const std::vector<std::int64_t> &by) {
        return lt(id, type::f16, extents, by);
    };
    const lt x = f16(0, {5, 32}, {1, 5}), scale = f32(11, {1}), real = f16(13, {32, 8}, {8, 1}),
             y = f16(20, {5, 8}, {9, 1});
    const lt w(10, type::s8, {32, 8}, layout::strided, lt::property_type::constant);
    dg::graph graph(dg::engine::kind::cpu);
    graph.add_op(dg::op(101, kind::DynamicDequantize, {w, scale}, {real}, "dw"));
    graph.add_op(dg::op(102, kind::MatMul, {x, real}, {y}, "product"));
    graph.finalize();
    const auto partitions = graph.get_partitions();
    ASSERT_EQ(partitions.size(), 1U);
    std::vector<std::uint16_t> from(5 * 32, 0x4200), to(4 * 9 + 8); // 3
    std::vector<float> half = {0.5F};
    std::vector<std::int8_t> weights(32 * 8, 2);
    EXPECT_EQ(allocations_of(partitions.front().compile({x, w, scale}, {y}, cpu()),
                      {tensor_of(x, from), tensor_of(w, weights), tensor_of(scale, half)}, {tensor_of(y, to)}),
            0);
    for (std::size_t i = 0; i < to.size(); ++i)
        EXPECT_EQ(to[i], i % 9 < 8 ? 0x5600U : 0U) << i; // 96
}

TEST(graph_no_allocation, in_a_layer_that_quantizes_x_by_computed_scales) {
    const lt raw = f32(0, {4, 32}), x = s8(1, {4, 32}), x_scales = f32(2, {4}), x_real = f32(3, {4, 32});
    const lt w(10, type::s8, {32, 8}, layout::strided, lt::property_type::constant);
    const lt w_scale = f32(11, {1}), w_real = f32(13, {32, 8}), y = f32(20, {4, 8});
    dg::graph graph(dg::engine::kind::cpu);
    dg::op quantize(100, kind::DynamicQuantize, {raw}, {x, x_scales}, "q");
    dg::op dequantize(101, kind::DynamicDequantize, {x, x_scales}, {x_real}, "dx");
    quantize.set_attr<std::string>(dg::own::scale_rule, "absmax").set_attr(dg::own::narrow, true);
    graph.add_op(quantize.set_attr<std::int64_t>(dg::newer::mask, 1));
    graph.add_op(dequantize.set_attr<std::int64_t>(dg::newer::mask, 1));
    graph.add_op(dg::op(102, kind::DynamicDequantize, {w, w_scale}, {w_real}, "dw"));
    graph.add_op(dg::op(103, kind::MatMul, {x_real, w_real}, {y}, "product"));
    graph.finalize();
    const auto partitions = graph.get_partitions();
    ASSERT_EQ(partitions.size(), 1U);
    std::vector<float> from(4 * 32, 127), scale = {0.5F}, to(4 * 8);
    std::vector<std::int8_t> weights(32 * 8, 2);
    EXPECT_EQ(allocations_of(partitions.front().compile({raw, w, w_scale}, {y}, cpu()),
                      {tensor_of(raw, from), tensor_of(w, weights), tensor_of(w_scale, scale)}, {tensor_of(y, to)}),
            0);
    EXPECT_EQ(to, std::vector<float>(4 * 8, 127 * 32)); // codes 127, the scale 1; 2 * 0.5
}

} // namespace
} // namespace dynquant::test

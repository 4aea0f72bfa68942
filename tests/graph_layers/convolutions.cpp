// Layers around a Convolution: formats, padding, what follows, and which there are.
#include "small_convolution.hpp"

namespace dynquant::test {
namespace {

TEST(convolutions, are_layers_in_all_formats) {
    for (const bool is_ncx : {false, true})
        for (const bool is_oix : {false, true})
            for (const auto of_w : {property::variable, property::constant}) {
                const small_convolution p(is_ncx, is_oix, of_w);
                EXPECT_EQ(layer_gives(p), p.in_order(small_result)) << is_ncx << is_oix;
            }
}

TEST(convolutions, pad_with_what_stands_for_zero) {
    // One line of zeros below and one column behind, by SAME_UPPER too.
    const floats padded {0, 2, 0, 6, 8, 3, 4, 5, 6, 0.5F, 0.625F, 0, 0.875F, 1, 0.375F, -0.75F, -0.875F, 0.75F};
    for (const bool is_ncx : {false, true})
        for (const char *mode : {"None", "SAME_UPPER"}) {
            small_convolution p(is_ncx);
            p.pads_end = {1, 1};
            p.auto_pad = mode;
            p.set_up();
            EXPECT_EQ(layer_gives(p), p.in_order(padded)) << mode;
        }
}

TEST(convolutions, pad_where_no_byte_stands_for_zero) {
    // x less 303 is -302 -301 -300, -299 -298 -297, -296 -295 -294.
    const floats padded {-600, -598, -300, -594, -592, -297, -296, -295, -294, -37, -36.875F, -37.5F, -36.625F, -36.5F,
            -37.125F, 36.75F, 36.625F, -36.75F};
    for (const bool is_ncx : {false, true})
        for (const auto of_w : {property::variable, property::constant}) {
            small_convolution p(is_ncx, true, of_w);
            p.pads_end = {1, 1};
            p.set_up();
            p.give(p.x_zp, std::vector<std::int32_t> {303});
            EXPECT_EQ(layer_gives(p), p.in_order(padded));
        }
}

TEST(convolutions, by_weights_whose_zero_points_are_no_bytes) {
    // One channel and one filter for each of two groups, taps 0 0 less 40000: -80000 times x, 1 and 2.
    for (const bool is_ncx : {false, true})
        for (const auto of_w : {property::variable, property::constant}) {
            program p;
            const lt x = u8(0, is_ncx ? dims {1, 2, 3} : dims {1, 3, 2}), w = s8(10, {2, 1, 2}, of_w);
            const lt x_real = f32(3, x.get_dims()), w_real = f32(13, {2, 1, 2}), one = f32(1, {1}), zp = s32(12, {1});
            p.y = f32(20, is_ncx ? dims {1, 2, 2} : dims {1, 2, 2});
            dg::op convolution(102, kind::Convolution, {x_real, w_real}, {p.y}, "conv");
            convolution.set_attr(attr::strides, numbers {1}).set_attr(attr::dilations, numbers {1});
            convolution.set_attr(attr::pads_begin, numbers {0}).set_attr(attr::pads_end, numbers {0});
            convolution.set_attr<std::int64_t>(attr::groups, 2).set_attr<std::string>(attr::weights_format, "OIX");
            convolution.set_attr<std::string>(attr::data_format, is_ncx ? "NCX" : "NXC");
            p.ops = {{100, kind::DynamicDequantize, {x, one}, {x_real}, "dx"},
                    {101, kind::DynamicDequantize, {w, one, zp}, {w_real}, "dw"}, convolution};
            p.give(x,
                    is_ncx ? std::vector<std::uint8_t> {1, 1, 1, 2, 2, 2}
                           : std::vector<std::uint8_t> {1, 2, 1, 2, 1, 2});
            p.give(w, std::vector<std::int8_t>(4, 0)).give(one, floats {1}).give(zp, std::vector<std::int32_t> {40000});
            EXPECT_EQ(layer_gives(p),
                    is_ncx ? (floats {-80000, -80000, -160000, -160000}) : (floats {-80000, -160000, -80000, -160000}));
        }
}

TEST(convolutions, may_have_many_filters) {
    constexpr std::int64_t many = 1 << 22; // the weights are as many, fewer than the limit of 2^44, its square
    program p;
    const lt x = u8(0, {1, 1, 1}), w = s8(10, {many, 1, 1}), one = f32(1, {1});
    const lt x_real = f32(3, {1, 1, 1}), w_real = f32(13, {many, 1, 1});
    p.y = f32(20, {1, many, 1});
    dg::op convolution(102, kind::Convolution, {x_real, w_real}, {p.y}, "conv");
    convolution.set_attr(attr::strides, numbers {1}).set_attr(attr::dilations, numbers {1});
    convolution.set_attr(attr::pads_begin, numbers {0}).set_attr(attr::pads_end, numbers {0});
    convolution.set_attr<std::string>(attr::weights_format, "OIX").set_attr<std::string>(attr::data_format, "NCX");
    p.ops = {{100, kind::DynamicDequantize, {x, one}, {x_real}, "dx"},
            {101, kind::DynamicDequantize, {w, one}, {w_real}, "dw"}, convolution};
    p.give(x, std::vector<std::uint8_t> {3}).give(one, floats {2});
    p.give(w, std::vector<std::int8_t>(many, 5));
    EXPECT_EQ(layer_gives(p), floats(many, 60)); // 3 2 5 2
}

TEST(convolutions, have_scales_by_image) {
    for (const bool is_ncx : {false, true}) {
        small_convolution p(is_ncx);
        p.images = 2;
        p.x_scale = f32(1, {2});
        p.x_zp = s32(2, {2});
        p.set_up();
        p.ops.front() = by_channel(p.dequantize_x(), 0);
        // The second image is the first one 2 more, with the zero point 5 and twice the scale.
        p.give(p.x(), std::vector<std::uint8_t> {1, 2, 3, 4, 5, 6, 7, 8, 9, 3, 4, 5, 6, 7, 8, 9, 10, 11});
        p.give(p.x_scale, floats {0.5F, 1}).give(p.x_zp, std::vector<std::int32_t> {3, 5});
        auto expected = p.in_order(small_result);
        for (int i = 0; i < 8; ++i)
            expected.push_back(2 * expected[static_cast<std::size_t>(i)]);
        EXPECT_EQ(layer_gives(p), expected);
    }
}

TEST(convolutions, take_dims_of_x_that_are_known_at_compile_only) {
    small_convolution p(true);
    p.ops.front() = {100, kind::DynamicDequantize, {lt(0, type::u8, 4, layout::strided), p.x_scale, p.x_zp},
            {lt(3, type::f32, 4, layout::strided)}, "dx"};
    p.ops.back() = p.with_attributes({102, kind::Convolution, {lt(3, type::f32, 4, layout::strided), p.w_real()},
            {lt(20, type::f32, 4, layout::strided)}, "conv"});
    p.y = lt(20, type::f32, 4, layout::any);
    const auto partitions = partitions_of(p);
    ASSERT_EQ(partitions.size(), 1U);
    EXPECT_EQ(values_of<float>(compile(partitions.front(), p).run(p.data)), small_result);
    p.give(u8(0, {1, 1, 2, 3}), std::vector<std::uint8_t> {1, 2, 3, 4, 5, 6}); // the same partition: one line of y
    EXPECT_EQ(values_of<float>(compile(partitions.front(), p).run(p.data)), (floats {0, 2, 0.5F, 0.625F}));
}

TEST(convolutions, read_and_write_any_strides) {
    // NCX whose channels are the last ones in memory, of y and of w, and gaps behind the lines of x.
    small_convolution p(true);
    p.inputs[0] = {0, type::u8, {1, 1, 3, 3}, dims {15, 15, 5, 1}};
    p.data[0] = bytes_of(std::vector<std::uint8_t> {1, 2, 3, 99, 99, 4, 5, 6, 99, 99, 7, 8, 9, 99, 99});
    p.inputs[10] = {10, type::s8, {2, 1, 2, 2}, dims {1, 2, 2, 4}};
    p.data[10] = bytes_of(std::vector<std::int8_t> {1, 2, 0, 1, 0, -1, 1, 3}); // taps column by column
    p.y = {20, type::f32, {1, 2, 2, 2}, dims {8, 1, 4, 2}};
    EXPECT_EQ(layer_gives(p), (floats {0, 0.5F, 2, 0.625F, 6, 0.875F, 8, 1}));
}

TEST(convolutions, add_a_bias_and_a_residual_and_quantize) {
    // 0 2 6 8 and 0.5 0.625 0.875 1, plus 1 and -1, plus 1 to 8: 2 5 10 13, 4.5 5.625 6.875 8; by 0.5, plus 1.
    const std::vector<std::int8_t> codes {5, 11, 21, 27, 10, 12, 15, 17};
    for (const bool is_ncx : {false, true})
        for (const bool is_bias_add : {false, true}) {
            small_convolution p(is_ncx);
            const lt bias = f32(30, {2}), biased = f32(21, p.dims_of(2, 2, 2)), residual = f32(31, p.dims_of(2, 2, 2)),
                     sum = f32(22, p.dims_of(2, 2, 2)), positive = f32(23, p.dims_of(2, 2, 2));
            if (is_bias_add)
                p.then(dg::op(103, kind::BiasAdd, {p.product(), bias}, {}, "bias")
                                .set_attr<std::string>(attr::data_format, is_ncx ? "NCX" : "NXC"),
                        biased);
            else
                p.ops.back().add_input(bias);
            p.then({104, kind::Add, {residual, is_bias_add ? biased : p.product()}, {}, "add"}, sum);
            p.then({105, kind::ReLU, {sum}, {}, "relu"}, positive);
            p.then({106, kind::DynamicQuantize, {positive, f32(32, {1}), s32(33, {1})}, {}, "q"},
                    s8(24, p.dims_of(2, 2, 2)));
            p.give(bias, floats {1, -1}).give(residual, p.in_order(floats {1, 2, 3, 4, 5, 6, 7, 8}));
            p.give(f32(32, {1}), floats {0.5F}).give(s32(33, {1}), std::vector<std::int32_t> {1});
            EXPECT_EQ(layer_gives<std::int8_t>(p), p.in_order(codes)) << is_ncx << is_bias_add;
        }
}

TEST(convolutions, end_before_a_bias_of_other_channels) {
    // NXC is BiasAdd's default: the vector is one for the columns of dst.
    small_convolution p(true);
    const lt bias = f32(30, {2});
    p.then({103, kind::BiasAdd, {p.product(), bias}, {}, "bias"}, f32(21, p.dims_of(2, 2, 2)));
    p.give(bias, floats {1, -1});
    const auto partitions = partitions_of(p);
    EXPECT_EQ(ops_of(partitions), (std::vector<id_list> {{100, 101, 102}, {103}}));
    run_in_order(partitions, p);
    EXPECT_EQ(data_of(p, 21), (floats {1, 1, 7, 7, 1.5F, -0.375F, 1.875F, 0}));
}

TEST(convolutions, end_before_slopes_of_other_channels) {
    // PReLU takes dims[1] for the channels, and the convolution the last one.
    small_convolution p(false);
    const lt slopes = f32(30, {2}), result = f32(21, p.dims_of(2, 2, 2));
    p.then(dg::op(103, kind::PReLU, {p.product(), slopes}, {}, "prelu").set_attr<std::string>(attr::data_format, "NCX"),
            result);
    p.give(p.w_scales, floats {-2, 0.25F}).give(slopes, floats {3, 5});
    const auto partitions = partitions_of(p);
    EXPECT_EQ(ops_of(partitions), (std::vector<id_list> {{100, 101, 102}, {103}}));
    run_in_order(partitions, p);
    // The first filter gives -0 -2, -6 -8, of which the first line is times 3 and the second times 5.
    EXPECT_EQ(data_of(p, 21), p.in_order(floats {0, -6, -30, -40, 0.5F, 0.625F, 0.875F, 1}));
}

TEST(convolutions, end_before_an_operand_of_more_dims) {
    small_convolution p(false);
    const lt factor = f32(30, {1, 1, 1, 1, 2});
    p.then({103, kind::Multiply, {p.product(), factor}, {}, "times"}, f32(21, {1, 1, 2, 2, 2}));
    p.give(factor, floats {10, 20});
    const auto partitions = partitions_of(p);
    EXPECT_EQ(ops_of(partitions), (std::vector<id_list> {{100, 101, 102}, {103}}));
    run_in_order(partitions, p);
    EXPECT_EQ(data_of(p, 21), (floats {0, 10, 20, 12.5F, 60, 17.5F, 80, 20}));
}

TEST(convolutions, whose_windows_do_not_fit_leave_the_graph_as_it_is) {
    program p;
    const lt x = u8(0, {1, 2, 2, 1}), w = s8(10, {3, 3, 1, 1}), x_real = f32(3, {1, 2, 2, 1}),
             w_real = f32(13, {3, 3, 1, 1});
    small_convolution attributes(false, false);
    p.ops = {{100, kind::DynamicDequantize, {x, f32(1, {1})}, {x_real}, "dx"},
            {101, kind::DynamicDequantize, {w, f32(11, {1})}, {w_real}, "dw"},
            attributes.with_attributes(
                    {102, kind::Convolution, {x_real, w_real}, {lt(20, type::f32, 4, layout::strided)}, "conv"}),
            {103, kind::ReLU, {f32(30, {2})}, {f32(31, {2})}, "relu"}};
    EXPECT_EQ(partitions_of(p).size(), 4U);
}

TEST(convolutions, of_static_ops_are_layers_where_onednn_is_wrong) {
    // With several zero points, or where its sums saturate. Without the second zero point the second filter is
    // 2 -1, 1 3: 2a - b + c + 3d is 4 9, 19 24.
    for (const bool has_several : {true, false}) {
        small_convolution p(true, true, property::constant);
        const numbers zps {0, has_several ? 1 : 0};
        p.ops[0] = with_scales({100, kind::Dequantize, {p.x()}, {p.x_real()}, "dx"}, {0.5F}, {3});
        p.ops[1] = with_scales(by_channel({101, kind::Dequantize, {p.w}, {p.w_real()}, "dw"}, 0), {2, 0.25F}, zps);
        EXPECT_EQ(layer_gives(p), has_several ? small_result : (floats {0, 2, 6, 8, 0.5F, 1.125F, 2.375F, 3}));
    }
}

TEST(convolutions, bind_constants_anew_when_a_run_has_others) {
    const small_convolution p(false, false, property::constant);
    const auto c = compile_layer(p);
    EXPECT_EQ(values_of<float>(c.run(p.data)), p.in_order(small_result));
    auto data = p.data;
    data[11] = bytes_of(floats {4, 0.5F});
    auto twice = small_result;
    for (auto &v : twice)
        v *= 2;
    EXPECT_EQ(values_of<float>(c.run(data)), p.in_order(twice));
    data[12] = bytes_of(std::vector<std::int32_t> {0, 0}); // the second filter as above
    EXPECT_EQ(values_of<float>(c.run(data)), p.in_order(floats {0, 4, 12, 16, 1, 2.25F, 4.75F, 6}));
}

} // namespace
} // namespace dynquant::test

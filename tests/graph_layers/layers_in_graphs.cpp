// Layers beside other layers and other ops of a graph, which all run in the order of the partitions.
#include <algorithm>

#include "by_hand.hpp"

namespace dynquant::test {
namespace {

TEST(layers, may_follow_each_other) {
    two_chains p;
    const auto partitions = partitions_of(p);
    EXPECT_EQ(ops_of(partitions), (std::vector<id_list> {{100, 101, 102, 103}, {104, 105, 106}}));
    run_in_order(partitions, p);
    EXPECT_EQ(data_of<std::int8_t>(p, 41), (std::vector<std::int8_t> {-40, 3, -64, 18}));
    EXPECT_EQ(data_of(p, 60), (floats {-5 + 0.75F, -8 + 4.5F}));
}

TEST(layers, stand_between_other_ops_in_an_order_that_runs) {
    small_chain p;
    const lt raw = f32(70, {2, 3}), clipped = f32(71, {2, 3}), soft = f32(72, {2, 2});
    p.w_zps = s32(12, {1});
    p.w_scales = f32(11, {1});
    p.ops = {dg::op(110, kind::SoftMax, {p.product}, {soft}, "soft").set_attr<std::int64_t>(attr::axis, 1), p.matmul(),
            p.dequantize_w(), p.dequantize_x(),
            dg::op(111, kind::DynamicQuantize, {clipped, p.x_scale, p.x_zp}, {p.x}, "q"),
            dg::op(112, kind::ReLU, {raw}, {clipped}, "relu")};
    p.give(raw, floats {-7, 0.5F, 1, 0, -1, 2}).give(p.x_scale, floats {0.5F});
    p.give(p.x_zp, std::vector<std::int32_t> {3});
    p.give(p.w, std::vector<std::int8_t> {7, 7, 2, 2, -5, -5}).give(p.w_scales, floats {1});
    p.give(p.w_zps, std::vector<std::int32_t> {0});
    const auto partitions = partitions_of(p);
    EXPECT_EQ(ops_of(partitions), (std::vector<id_list> {{112}, {111, 100, 101, 102}, {110}}));
    run_in_order(partitions, p);
    EXPECT_EQ(data_of(p, 20), (floats {-4, -4, -10, -10}));
    EXPECT_EQ(data_of(p, 72), floats(4, 0.5F));
}

TEST(layers, share_a_dequantize_of_queries_keys_and_values) {
    auto p = small_chain().give_data();
    for (std::size_t i = 1; i <= 2; ++i) {
        const lt w = s8(10 + 100 * i, {3, 1}), scale = f32(11 + 100 * i, {1}), real = f32(13 + 100 * i, {3, 1});
        p.ops.push_back({101 + 100 * i, kind::DynamicDequantize, {w, scale}, {real}, "dw"});
        p.ops.push_back({102 + 100 * i, kind::MatMul, {p.x_real, real}, {f32(20 + 100 * i, {2, 1})}, "product"});
        p.give(w, std::vector<std::int8_t> {static_cast<std::int8_t>(i), 0, 1}).give(scale, floats {2});
    }
    const auto partitions = partitions_of(p);
    EXPECT_EQ(sorted_ops_of(partitions), (std::vector<id_list> {{100, 101, 102}, {201, 202}, {301, 302}}));
    for (const auto &each : partitions)
        EXPECT_EQ(each.get_input_ports().front().get_id(), 0U); // each reads x itself
    run_in_order(partitions, p);
    EXPECT_EQ(data_of(p, 20), small_product);
    EXPECT_EQ(data_of(p, 120), (floats {-2, 4})); // -2 -1 0 and 1 2 3, times 1 0 1
    EXPECT_EQ(data_of(p, 220), (floats {-4, 5}));
}

TEST(layers, share_a_dequantize_of_weights) {
    auto p = small_chain(property::constant).give_data();
    const lt x = s8(60, {1, 3}), scale = f32(61, {1}), real = f32(62, {1, 3});
    p.ops.push_back({110, kind::DynamicDequantize, {x, scale}, {real}, "dx2"});
    p.ops.push_back({111, kind::MatMul, {real, p.w_real}, {f32(63, {1, 2})}, "product2"});
    p.give(x, std::vector<std::int8_t> {1, 0, -1}).give(scale, floats {1});
    const auto partitions = partitions_of(p);
    EXPECT_EQ(sorted_ops_of(partitions), (std::vector<id_list> {{100, 101, 102}, {110, 111}}));
    run_in_order(partitions, p);
    EXPECT_EQ(data_of(p, 20), small_product);
    EXPECT_EQ(data_of(p, 63), (floats {12, -2})); // 6 -8 times 2 0.25
}

TEST(layers, leave_a_dequantize_that_others_read_a_partition_of_its_own) {
    auto p = small_chain().give_data();
    p.ops.push_back({103, kind::ReLU, {p.x_real}, {f32(70, {2, 3})}, "relu"});
    auto partitions = partitions_of(p);
    auto ops = ops_of(partitions);
    std::ranges::sort(ops);
    EXPECT_EQ(ops, (std::vector<id_list> {{100}, {101, 102}, {103}}));
    run_in_order(partitions, p);
    EXPECT_EQ(data_of(p, 20), small_product);
    EXPECT_EQ(data_of(p, 3), (floats {-1, -0.5F, 0, 0.5F, 1, 1.5F}));
    EXPECT_EQ(data_of(p, 70), (floats {0, 0, 0, 0.5F, 1, 1.5F}));
}

TEST(layers, end_where_two_ops_or_an_end_read_a_result) {
    auto p = small_chain().give_data();
    const lt relu = f32(70, {2, 2});
    p.ops.push_back({103, kind::ReLU, {p.product}, {relu}, "relu"});
    p.ops.push_back({104, kind::End, {p.product}, {}, "end"});
    auto partitions = partitions_of(p);
    std::erase_if(partitions, [](const auto &each) { return !each.is_supported(); }); // End's, which nobody runs
    EXPECT_EQ(ops_of(partitions), (std::vector<id_list> {{100, 101, 102}, {103}}));
    run_in_order(partitions, p);
    EXPECT_EQ(data_of(p, 20), small_product);
    EXPECT_EQ(data_of(p, 70), (floats {0, 0.375F, 0, 2.25F}));
}

TEST(layers, take_an_operand_that_another_op_gives) {
    auto p = small_chain().give_data();
    const lt raw = f32(70, {2}), operand = f32(71, {2}), sum = f32(21, {2, 2});
    p.then({103, kind::Add, {p.product, operand}, {}, "add"}, sum);
    p.ops.push_back({104, kind::ReLU, {raw}, {operand}, "relu"});
    p.give(raw, floats {-3, 8});
    const auto partitions = partitions_of(p);
    EXPECT_EQ(ops_of(partitions), (std::vector<id_list> {{104}, {100, 101, 102, 103}}));
    run_in_order(partitions, p);
    EXPECT_EQ(data_of(p, 21), (floats {-5, 8.375F, -8, 10.25F}));
}

TEST(layers, take_one_tensor_as_bias_and_as_operand) {
    auto p = small_chain().give_data();
    const lt both = f32(30, {2}), sum = f32(21, {2, 2});
    p.ops.back().add_input(both);
    p.then({103, kind::Multiply, {p.product, both}, {}, "multiply"}, sum).give(both, floats {2, 4});
    const auto c = compile_layer(p);
    EXPECT_EQ(ids_of(c.inputs), (id_list {0, 1, 2, 10, 11, 12, 30}));
    EXPECT_EQ(values_of<float>(c.run(p.data)), (floats {-6, 17.5F, -12, 25}));
}

TEST(layers, take_one_tensor_as_the_scales_of_both_sides) {
    auto p = small_chain().give_data();
    p.ops[1] = {101, kind::DynamicDequantize, {p.w, p.x_scale, p.x_zp}, {p.w_real}, "dw"};
    const auto c = compile_layer(p);
    EXPECT_EQ(ids_of(c.inputs), (id_list {0, 1, 2, 10}));
    // w less 3: -2 -5, 0 1, -8 3; both times 0.5.
    EXPECT_EQ(values_of<float>(c.run(p.data)), (floats {1, 9 / 4.0F, -26 / 4.0F, 6 / 4.0F}));
}

TEST(layers, multiply_one_dequantize_by_itself) {
    small_chain p;
    p.x = s8(0, {2, 2});
    p.x_real = f32(3, {2, 2});
    p.ops = {p.dequantize_x(), {102, kind::MatMul, {p.x_real, p.x_real}, {p.product}, "product"}};
    p.give(p.x, std::vector<std::int8_t> {4, 5, 1, 0}).give(p.x_scale, floats {0.5F});
    p.give(p.x_zp, std::vector<std::int32_t> {3});
    // 1 2, -2 -3 squared is -3 -4, 4 5.
    EXPECT_EQ(layer_gives(p), (floats {-0.75F, -1, 1, 1.25F}));
}

TEST(layers, multiply_one_tensor_that_two_ops_dequantize) {
    small_chain p;
    p.x = s8(0, {2, 2});
    p.x_real = f32(3, {2, 2});
    p.w_real = f32(13, {2, 2});
    p.ops = {p.dequantize_x(), {101, kind::DynamicDequantize, {p.x, p.w_scales}, {p.w_real}, "dw"}, p.matmul()};
    p.w_scales = f32(11, {1});
    p.ops[1] = {101, kind::DynamicDequantize, {p.x, p.w_scales}, {p.w_real}, "dw"};
    p.give(p.x, std::vector<std::int8_t> {4, 5, 1, 0}).give(p.x_scale, floats {0.5F}).give(p.w_scales, floats {2});
    p.give(p.x_zp, std::vector<std::int32_t> {3});
    const auto c = compile_layer(p);
    EXPECT_EQ(ids_of(c.inputs), (id_list {0, 1, 2, 11}));
    // 1 2, -2 -3 times 4 5, 1 0.
    EXPECT_EQ(values_of<float>(c.run(p.data)), (floats {6, 5, -11, -10}));
}

TEST(layers, take_what_they_dequantize_as_operand_too) {
    small_chain p;
    p.x = u8(0, {1, 2});
    p.x_real = f32(3, {1, 2});
    p.w = s8(10, {2, 2});
    p.w_real = f32(13, {2, 2});
    p.product = f32(20, {1, 2});
    p.set_up();
    p.then({103, kind::Add, {p.product, p.x_real}, {}, "residual"}, f32(21, {1, 2}));
    p.give_data();
    p.give(p.x, std::vector<std::uint8_t> {1, 5}).give(p.w, std::vector<std::int8_t> {1, 2, 3, 4});
    const auto partitions = partitions_of(p);
    run_in_order(partitions, p);
    // -2 2 times 1 1, 3 3 is 4 4, times 1 and 0.125, plus -1 1.
    EXPECT_EQ(data_of(p, 21), (floats {3, 1.5F}));
}

TEST(layers, multiply_by_itself_what_one_quantize_gives) {
    small_chain p;
    const lt raw = f32(70, {2, 2});
    p.x = s8(0, {2, 2});
    p.x_real = f32(3, {2, 2});
    p.ops = {{99, kind::DynamicQuantize, {raw, p.x_scale, p.x_zp}, {p.x}, "q"}, p.dequantize_x(),
            {102, kind::MatMul, {p.x_real, p.x_real}, {p.product}, "product"}};
    p.give(raw, floats {0.5F, 1, -1, -1.5F}).give(p.x_scale, floats {0.5F}).give(p.x_zp, std::vector<std::int32_t> {3});
    const auto partitions = partitions_of(p);
    EXPECT_EQ(ops_of(partitions), (std::vector<id_list> {{99}, {100, 102}}));
    run_in_order(partitions, p);
    // 1 2, -2 -3 squared is -3 -4, 4 5.
    EXPECT_EQ(data_of(p, 20), (floats {-0.75F, -1, 1, 1.25F}));
}

TEST(layers, of_one_x_leave_its_quantize_a_partition_of_its_own) {
    auto p = small_chain().give_data();
    const lt raw = f32(70, {2, 3}), w = s8(50, {3, 1}), scale = f32(51, {1}), real = f32(52, {3, 1});
    p.ops.insert(p.ops.begin(), {99, kind::DynamicQuantize, {raw, p.x_scale, p.x_zp}, {p.x}, "q"});
    p.ops.push_back({110, kind::DynamicDequantize, {w, scale}, {real}, "dw2"});
    p.ops.push_back({111, kind::MatMul, {p.x_real, real}, {f32(60, {2, 1})}, "product2"});
    p.give(raw, floats {-1, -0.5F, 0, 0.5F, 1, 1.5F})
            .give(w, std::vector<std::int8_t> {1, 0, 1})
            .give(scale, floats {2});
    const auto partitions = partitions_of(p);
    EXPECT_EQ(sorted_ops_of(partitions), (std::vector<id_list> {{99}, {100, 101, 102}, {110, 111}}));
    run_in_order(partitions, p);
    EXPECT_EQ(data_of(p, 20), small_product);
    EXPECT_EQ(data_of(p, 60), (floats {-2, 4})); // -2 -1 0 and 1 2 3, times 1 0 1
}

TEST(layers, take_an_x_that_an_op_of_another_kind_gives) {
    auto p = small_chain().give_data();
    p.ops.insert(p.ops.begin(), {99, kind::Wildcard, {f32(70, {2, 3})}, {p.x}, "unknown"});
    const auto partitions = partitions_of(p);
    ASSERT_EQ(ops_of(partitions), (std::vector<id_list> {{99}, {100, 101, 102}}));
    EXPECT_EQ(values_of<float>(compile(partitions.back(), p).run(p.data)), small_product);
}

TEST(layers, stand_beside_a_bias_of_other_floats) {
    auto p = small_chain().give_data();
    const lt raw = f32(70, {2, 2}), bias = f32(71, {2});
    p.ops.push_back({103, kind::BiasAdd, {raw, bias}, {f32(72, {2, 2})}, "bias"});
    p.give(raw, floats {1, 2, 3, 4}).give(bias, floats {10, 20});
    const auto partitions = partitions_of(p);
    EXPECT_EQ(sorted_ops_of(partitions), (std::vector<id_list> {{100, 101, 102}, {103}}));
    run_in_order(partitions, p);
    EXPECT_EQ(data_of(p, 20), small_product);
    EXPECT_EQ(data_of(p, 72), (floats {11, 22, 13, 24}));
}

TEST(layers, take_an_x_whose_layout_onednn_chose) {
    auto p = small_chain().give_data();
    const lt raw = f32(70, {2, 3}), clipped = lt(71, type::f32, {2, 3}, layout::any);
    p.ops.insert(p.ops.begin(),
            {{110, kind::ReLU, {raw}, {clipped}, "relu"},
                    {111, kind::DynamicQuantize, {clipped, p.x_scale, p.x_zp}, {p.x}, "q"}});
    p.give(raw, floats {-1, -0.5F, 0, 0.5F, 1, 1.5F});
    const auto partitions = partitions_of(p);
    EXPECT_EQ(ops_of(partitions), (std::vector<id_list> {{110}, {111, 100, 101, 102}}));
    run_in_order(partitions, p);
    // 0 0 0, 1 2 3 times w.
    EXPECT_EQ(data_of(p, 20), (floats {0, 0, -8, 2.25F}));
}

TEST(layers, take_an_x_that_an_f32_product_gives_in_a_layout_of_its_choice) {
    auto p = small_chain().give_data();
    const lt a = f32(70, {2, 2}), b = f32(71, {2, 3}), raw = lt(72, type::f32, {2, 3}, layout::any);
    p.ops.insert(p.ops.begin(),
            {{110, kind::MatMul, {a, b}, {raw}, "floats"},
                    {111, kind::DynamicQuantize, {raw, p.x_scale, p.x_zp}, {p.x}, "q"}});
    p.give(a, floats {1, 0, 0, 1}).give(b, floats {-1, -0.5F, 0, 0.5F, 1, 1.5F});
    const auto partitions = partitions_of(p);
    EXPECT_EQ(ops_of(partitions), (std::vector<id_list> {{110}, {111, 100, 101, 102}}));
    run_in_order(partitions, p);
    EXPECT_EQ(data_of(p, 20), small_product);
}

TEST(layers, take_an_x_that_a_convolution_gives_in_a_layout_of_its_choice) {
    small_chain p;
    const lt image = f32(70, {1, 8, 2, 3}), filters(71, type::f32, {16, 8, 1, 1}, layout::strided, property::constant);
    const lt raw(72, type::f32, {1, 16, 2, 3}, layout::any);
    p.x = u8(0, {1, 16, 2, 3});
    p.x_real = f32(3, {1, 16, 2, 3});
    p.product = f32(20, {1, 16, 2, 2});
    p.set_up();
    dg::op convolution(110, kind::Convolution, {image, filters}, {raw}, "convolution");
    for (const auto name : {attr::strides, attr::dilations})
        convolution.set_attr(name, numbers {1, 1});
    for (const auto name : {attr::pads_begin, attr::pads_end})
        convolution.set_attr(name, numbers {0, 0});
    convolution.set_attr<std::string>(attr::data_format, "NCX").set_attr<std::string>(attr::weights_format, "OIX");
    p.ops.insert(p.ops.begin(), {convolution, {111, kind::DynamicQuantize, {raw, p.x_scale, p.x_zp}, {p.x}, "q"}});
    p.give_data();
    floats pixels, weights(16 * 8), expected;
    for (int c = 0; c < 8; ++c)
        pixels.insert(pixels.end(), {-1, -0.5F, 0, 0.5F, 1, 1.5F});
    for (std::size_t f = 0; f < 16; ++f) {
        weights[f * 8 + f % 8] = 1;
        expected.insert(expected.end(), small_product.begin(), small_product.end());
    }
    p.give(image, pixels).give(filters, weights);
    run_in_order(partitions_of(p), p);
    EXPECT_EQ(data_of(p, 20), expected);
}

TEST(layers, of_one_x_may_take_what_another_gives) {
    auto p = small_chain().give_data();
    const lt second = f32(60, {2, 2}), summed = f32(61, {2, 2}), w2 = s8(50, {3, 2}), w2_real = f32(52, {3, 2});
    p.ops.push_back({110, kind::DynamicDequantize, {w2, p.x_scale}, {w2_real}, "dw2"});
    p.ops.push_back({111, kind::MatMul, {p.x_real, w2_real}, {second}, "product2"});
    // The second product's maximum by column is the first one's bias.
    p.ops.push_back(dg::op(112, kind::ReduceMax, {second}, {f32(63, {1, 2})}, "max")
                            .set_attr(attr::axes, numbers {0})
                            .set_attr<bool>(attr::keep_dims, true));
    p.then({113, kind::Add, {p.product, f32(63, {1, 2})}, {}, "add"}, summed);
    p.give(w2, std::vector<std::int8_t> {4, 0, 0, 4, 0, 4});
    const auto partitions = partitions_of(p);
    EXPECT_EQ(ops_of(partitions), (std::vector<id_list> {{110, 111}, {112}, {100, 101, 102, 113}}));
    run_in_order(partitions, p);
    // -2 -1 0, 1 2 3 times 4 0, 0 4, 0 4, a quarter: -2 -1, 1 5.
    EXPECT_EQ(data_of(p, 60), (floats {-2, -1, 1, 5}));
    EXPECT_EQ(data_of(p, 61), (floats {-4, 5.375F, -7, 7.25F}));
}

TEST(layers, compute_as_before_what_two_ops_read_of_a_quantize) {
    auto p = small_chain().give_data();
    const lt raw = f32(70, {2, 3}), again = f32(71, {2, 3});
    p.ops.insert(p.ops.begin(), {111, kind::DynamicQuantize, {raw, p.x_scale, p.x_zp}, {p.x}, "q"});
    p.ops.push_back({112, kind::DynamicDequantize, {p.x, p.x_scale}, {again}, "again"}); // without zps
    p.give(raw, floats {-1, -0.5F, 0, 0.5F, 1, 1.5F});
    auto partitions = partitions_of(p);
    auto ops = ops_of(partitions);
    std::ranges::sort(ops);
    EXPECT_EQ(ops, (std::vector<id_list> {{100, 101, 102}, {111}, {112}}));
    run_in_order(partitions, p);
    EXPECT_EQ(data_of(p, 20), small_product);
    EXPECT_EQ(data_of(p, 71), (floats {0.5F, 1, 1.5F, 2, 2.5F, 3}));
}

TEST(layers, take_the_first_of_two_ops_with_one_id) {
    auto p = small_chain().give_data();
    dg::graph graph(dg::engine::kind::cpu);
    for (const auto &op : p.ops)
        graph.add_op(op);
    // dynquant::graph refuses it, oneDNN ignores it.
    const dg::op again(102, kind::MatMul, {p.x_real, p.w_real}, {f32(21, {2, 2})}, "again");
#if defined(DYNQUANT_TEST_DROP_IN)
    graph.add_op(again);
#else
    EXPECT_EQ(graph.add_op(again, false), dg::status::invalid_graph);
#endif
    graph.finalize();
    const auto partitions = graph.get_partitions();
    ASSERT_EQ(ops_of(partitions), (std::vector<id_list> {{100, 101, 102}}));
    EXPECT_EQ(values_of<float>(compile(partitions.front(), p).run(p.data)), small_product);
}

#if defined(DYNQUANT_TEST_DROP_IN) // dynquant::graph refuses the op, and the program knows

/// An op with a zero point that dynquant refuses, as s32 lacks it, and oneDNN takes.
dg::op with_a_huge_zp(dg::op op) {
    return with_scales(std::move(op), {1}, {std::int64_t {1} << 40});
}

TEST(layers, are_taken_beside_an_op_that_is_left_to_onednn) {
    auto p = small_chain().give_data();
    p.ops.insert(p.ops.begin(), with_a_huge_zp({120, kind::Dequantize, {u8(80, {4})}, {f32(81, {4})}, "left"}));
    const auto partitions = partitions_of(p);
    ASSERT_EQ(sorted_ops_of(partitions), (std::vector<id_list> {{100, 101, 102}, {120}}));
    const auto &layer = *std::ranges::find(partitions, 3U, [](const auto &each) { return each.get_ops_num(); });
    EXPECT_EQ(values_of<float>(compile(layer, p).run(p.data)), small_product);
}

TEST(layers, end_before_a_quantize_that_is_left_to_onednn) {
    auto p = small_chain().give_data();
    p.ops.push_back(with_a_huge_zp({103, kind::Quantize, {p.product}, {u8(21, {2, 2})}, "left"}));
    const auto partitions = partitions_of(p);
    EXPECT_EQ(ops_of(partitions), (std::vector<id_list> {{100, 101, 102}, {103}}));
    EXPECT_EQ(values_of<float>(compile(partitions.front(), p).run(p.data)), small_product);
}

TEST(layers, begin_behind_a_quantize_that_is_left_to_onednn) {
    auto p = small_chain().give_data();
    p.ops.insert(p.ops.begin(), with_a_huge_zp({99, kind::Quantize, {f32(70, {2, 3})}, {p.x}, "left"}));
    const auto partitions = partitions_of(p);
    EXPECT_EQ(ops_of(partitions), (std::vector<id_list> {{99}, {100, 101, 102}}));
    EXPECT_EQ(values_of<float>(compile(partitions.back(), p).run(p.data)), small_product);
}

TEST(layers, are_not_made_of_a_dequantize_that_is_left_to_onednn) {
    auto p = small_chain().give_data();
    const lt codes = u8(80, {2, 3}), real = f32(81, {2, 3}), second = f32(82, {2, 2});
    p.ops.push_back(with_a_huge_zp({120, kind::Dequantize, {codes}, {real}, "left"}));
    p.ops.push_back({121, kind::MatMul, {real, p.w_real}, {second}, "floats"});
    const auto partitions = partitions_of(p);
    auto ops = ops_of(partitions);
    std::ranges::sort(ops);
    EXPECT_EQ(ops, (std::vector<id_list> {{100, 101, 102}, {120}, {121}})); // 121: floats by weights that stay narrow
    for (const auto &each : partitions)
        if (each.get_ops_num() == 3) {
            EXPECT_EQ(values_of<float>(compile(each, p).run(p.data)), small_product);
        }
}

#endif

} // namespace
} // namespace dynquant::test

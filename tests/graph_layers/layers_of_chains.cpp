// Which chains are layers, how far they go, and what stays as it was.
#include <algorithm>

#include "by_hand.hpp"

namespace dynquant::test {
namespace {

/// A static chain: x by one scale and zero point, w by column.
struct static_chain : program {
    explicit static_chain(const numbers &zps_of_w) {
        const lt x = u8(0, {2, 3}), w = s8(1, {3, 3}, property::constant);
        const lt x_real = f32(2, {2, 3}), w_real = f32(3, {3, 3}), product = f32(4, {2, 3});
        y = s8(5, {2, 3});
        ops = {with_scales({10, kind::Dequantize, {x}, {x_real}, "dx"}, {0.5F}, {3}),
                with_scales(by_channel({11, kind::Dequantize, {w}, {w_real}, "dw"}, 1), {1, 2, 0.5F}, zps_of_w),
                {12, kind::MatMul, {x_real, w_real}, {product}, "product"},
                with_scales({13, kind::Quantize, {product}, {y}, "q"}, {0.25F}, {1})};
        give(x, std::vector<std::uint8_t> {1, 2, 3, 4, 5, 6});
        give(w, std::vector<std::int8_t> {1, -2, 3, 4, 0, -1, 2, 5, -4});
    }
};

TEST(layers, take_static_weights_with_several_zps) {
    // The columns of w less 0, -1, -3 are 1 4 2, -1 1 6, 6 2 -1. The sums are -6 1 -14, 15 19 7, times 0.5, 1, 0.25.
    // oneDNN alone takes the zero point 0 for all columns: -11 17 -4, 31 53 -10.
    const static_chain p({0, -1, -3});
    EXPECT_EQ(layer_gives<std::int8_t>(p), (std::vector<std::int8_t> {-11, 5, -13, 31, 77, 8}));
}

TEST(layers, leave_static_weights_with_one_zp_to_onednn) {
    // 1 4 2, -2 0 5, 3 -1 -4 less 0: the second and third sums are 4 -5, 13 -11.
    const static_chain p({0, 0, 0});
    EXPECT_EQ(layer_gives<std::int8_t>(p), (std::vector<std::int8_t> {-11, 17, -4, 31, 53, -10}));
}

TEST(layers, of_static_ops_do_not_saturate) {
    // 64 products of 255 and 127, whoever computes them. Two of them are more than 16 bits hold.
    program p;
    const lt x = u8(0, {1, 64}), w = s8(1, {64, 2}, property::constant), x_real = f32(2, {1, 64}),
             w_real = f32(3, {64, 2});
    p.y = f32(4, {1, 2});
    p.ops = {with_scales({10, kind::Dequantize, {x}, {x_real}, "dx"}, {1}, {0}),
            with_scales(by_channel({11, kind::Dequantize, {w}, {w_real}, "dw"}, 1), {1, 0.5F}, {0, 0}),
            {12, kind::MatMul, {x_real, w_real}, {p.y}, "product"}};
    p.give(x, std::vector<std::uint8_t>(64, 255)).give(w, std::vector<std::int8_t>(128, 127));
    EXPECT_EQ(layer_gives<float>(p), (floats {2072640, 1036320}));
}

TEST(layers, take_a_static_x_with_several_zps) {
    // x by row, less 3 and 5: -2 -1 0, -1 0 1; times w's columns 1 4 2, -2 0 5, 3 -1 -4: -6 4 -5, 1 7 -7.
    static_chain p({0, 0, 0});
    p.ops.front() = with_scales(
            by_channel({10, kind::Dequantize, {u8(0, {2, 3})}, {f32(2, {2, 3})}, "dx"}, 0), {0.5F, 1}, {3, 5});
    EXPECT_EQ(layer_gives<std::int8_t>(p), (std::vector<std::int8_t> {-11, 17, -4, 5, 57, -13}));
}

TEST(layers, add_another_dequantized_matrix) {
    static_chain p({0, -1, -3});
    const lt other = u8(6, {2, 3}), other_real = f32(7, {2, 3}), sum = f32(8, {2, 3});
    p.ops.insert(p.ops.begin() + 3,
            {with_scales({14, kind::Dequantize, {other}, {other_real}, "other"}, {0.25F}, {0}),
                    {15, kind::Add, {f32(4, {2, 3}), other_real}, {sum}, "add"}});
    p.ops.back() = with_scales({13, kind::Quantize, {sum}, {p.y}, "q"}, {0.25F}, {1});
    p.give(other, std::vector<std::uint8_t> {0, 1, 2, 3, 4, 5});
    const auto partitions = partitions_of(p);
    EXPECT_EQ(ops_of(partitions), (std::vector<id_list> {{14}, {10, 11, 12, 15, 13}}));
    run_in_order(partitions, p);
    EXPECT_EQ(data_of<std::int8_t>(p, 5), (std::vector<std::int8_t> {-11, 6, -11, 34, 81, 13}));
}

/// Describes what ops give without dims.
lt unknown_f32(std::size_t id) {
    return {id, type::f32, layout::strided};
}

TEST(layers, add_what_ops_give_without_dims) {
    // The dequantized matrix of the test before, then what another layer gives: the same product.
    for (const bool is_layer : {false, true}) {
        static_chain p({0, -1, -3});
        const auto x_real = unknown_f32(2), w_real = unknown_f32(3), product = unknown_f32(4), summand = unknown_f32(7),
                   sum = unknown_f32(8);
        p.ops = {with_scales({10, kind::Dequantize, {u8(0, {2, 3})}, {x_real}, "dx"}, {0.5F}, {3}),
                with_scales(by_channel({11, kind::Dequantize, {s8(1, {3, 3}, property::constant)}, {w_real}, "dw"}, 1),
                        {1, 2, 0.5F}, {0, -1, -3}),
                {12, kind::MatMul, {x_real, w_real}, {product}, "product"}};
        if (is_layer) {
            p.ops.push_back({14, kind::MatMul, {x_real, w_real}, {summand}, "other"});
        } else {
            p.ops.push_back(with_scales({14, kind::Dequantize, {u8(6, {2, 3})}, {summand}, "other"}, {0.25F}, {0}));
            p.give(u8(6, {2, 3}), std::vector<std::uint8_t> {0, 1, 2, 3, 4, 5});
        }
        p.ops.push_back({15, kind::Add, {product, summand}, {sum}, "add"});
        p.ops.push_back(with_scales({13, kind::Quantize, {sum}, {p.y}, "q"}, {0.25F}, {1}));
        const auto partitions = partitions_of(p);
        EXPECT_EQ(partitions.size(), 2U);
        run_in_order(partitions, p);
        // The sums -6 1 -14, 15 19 7 times 0.5, 1, 0.25 are -3 1 -3.5, 7.5 19 1.75: twice, by 0.25, plus 1.
        const std::vector<std::int8_t> twice {-23, 9, -27, 61, 127, 15};
        EXPECT_EQ(data_of<std::int8_t>(p, 5), is_layer ? twice : (std::vector<std::int8_t> {-11, 6, -11, 34, 81, 13}));
    }
}

TEST(layers, add_a_tensor_of_the_run) {
    // The product is -5 0.375, -8 2.25.
    const struct {
        lt t;
        floats values, sums;
    } cases[] = {
            {f32(30, {2, 2}), {1, 2, 3, 4}, {-4, 2.375F, -5, 6.25F}},
            {f32(30, {2, 1}), {1, 2}, {-4, 1.375F, -6, 4.25F}},
            {{30, type::f32, {2, 2}, dims {1, 2}}, {1, 3, 2, 4}, {-4, 2.375F, -5, 6.25F}},
            {{30, type::f32, {2, 2}, dims {3, 1}}, {1, 2, 77, 3, 4}, {-4, 2.375F, -5, 6.25F}},
            {{30, type::f32, {2, 2}, dims {0, 1}}, {1, 2}, {-4, 2.375F, -7, 4.25F}},
    };
    for (const auto &c : cases)
        for (const bool is_first : {true, false}) {
            auto p = small_chain().give_data();
            p.then({103, kind::Add, is_first ? std::vector {c.t, p.product} : std::vector {p.product, c.t}, {}, "add"},
                    f32(40, {2, 2}));
            p.then({104, kind::ReLU, {f32(40, {2, 2})}, {}, "relu"}, f32(41, {2, 2}));
            p.give(c.t, c.values);
            auto expected = c.sums;
            for (auto &value : expected)
                value = std::max(value, 0.0F);
            const auto compiled = compile_layer(p);
            EXPECT_EQ(ids_of(compiled.inputs), (id_list {0, 1, 2, 10, 11, 12, 30}));
            EXPECT_TRUE(compiled.partition.get_inplace_ports().empty()); // a tile may read the tensor twice
            EXPECT_EQ(values_of<float>(compiled.run(p.data)), expected);
            // Another tensor at the next run.
            for (auto &value : expected)
                value = 0;
            p.give(c.t, floats(c.values.size(), -100));
            EXPECT_EQ(values_of<float>(compiled.run(p.data)), expected);
        }
}

TEST(layers, add_a_tensor_without_broadcasting) {
    auto p = small_chain().give_data();
    p.then(dg::op(103, kind::Add, {p.product, f32(30, {2, 2})}, {}, "add")
                    .set_attr<std::string>(attr::auto_broadcast, "none"),
            f32(40, {2, 2}));
    p.give(f32(30, {2, 2}), floats {1, 2, 3, 4});
    EXPECT_EQ(layer_gives(p), (floats {-4, 2.375F, -5, 6.25F}));
}

TEST(layers, end_before_an_add_without_broadcasting_of_other_or_unknown_dims) {
    const lt known = f32(20, {2, 2}), of_unknown_rows = f32(20, {unknown, 2});
    for (const auto &[product, t] :
            {std::pair(known, f32(30, {2})), {known, f32(30, {2, unknown})}, {of_unknown_rows, f32(30, {2, 2})}}) {
        auto p = small_chain();
        if (product.get_dims().front() == unknown) p.x = u8(0, {unknown, 3});
        p.x_real = f32(3, p.x.get_dims());
        p.product = product;
        p.set_up();
        p.then(dg::op(103, kind::Add, {product, t}, {}, "add").set_attr<std::string>(attr::auto_broadcast, "none"),
                f32(40, product.get_dims()));
        EXPECT_EQ(ops_of(partitions_of(p)), (std::vector<id_list> {{100, 101, 102}, {103}}));
    }
}

TEST(layers, add_constants_of_one_row) {
    auto p = small_chain().give_data();
    p.x = u8(0, {1, 3});
    p.x_real = f32(3, {1, 3});
    p.product = f32(20, {1, 2});
    p.set_up();
    const lt row(30, type::f32, dims {1, 2}, layout::strided, property::constant);
    p.then({103, kind::Add, {p.product, row}, {}, "add"}, f32(40, {1, 2}));
    p.give(p.x, std::vector<std::uint8_t> {1, 2, 3}).give(row, floats {1, 2});
    EXPECT_EQ(layer_gives(p), (floats {-4, 2.375F}));
}

TEST(layers, add_a_tensor_to_a_product_of_transposed_matrices_without_dims) {
    for (const bool transposes_x : {false, true})
        for (const bool transposes_w : {false, true}) {
            auto p = small_chain().give_data();
            const lt t = f32(30, {2, 2});
            if (transposes_x) {
                p.x = u8(0, {3, 2});
                p.x_real = f32(3, {3, 2});
                p.give(p.x, std::vector<std::uint8_t> {1, 4, 2, 5, 3, 6});
            }
            if (transposes_w) {
                p.w = s8(10, {2, 3});
                p.w_real = f32(13, {2, 3});
                p.give(p.w, std::vector<std::int8_t> {1, 3, -5, -2, 4, 6});
            }
            p.product = lt(20, type::f32, layout::strided);
            p.ops = {p.dequantize_x(), by_channel(p.dequantize_w(), transposes_w ? 0 : 1),
                    p.matmul()
                            .set_attr<bool>(attr::transpose_a, transposes_x)
                            .set_attr<bool>(attr::transpose_b, transposes_w)};
            p.then({103, kind::Add, {p.product, t}, {}, "add"}, f32(40, {2, 2}));
            p.give(t, floats {1, 2, 3, 4});
            EXPECT_EQ(layer_gives(p), (floats {-4, 2.375F, -5, 6.25F})) << transposes_x << transposes_w;
        }
}

TEST(layers, add_one_tensor_and_end_before_the_next) {
    auto p = small_chain().give_data();
    const lt first = f32(30, {2, 2}), second = f32(31, {2, 2});
    p.then({103, kind::Add, {p.product, first}, {}, "add"}, f32(40, {2, 2}));
    p.then({104, kind::Add, {f32(40, {2, 2}), second}, {}, "add2"}, f32(41, {2, 2}));
    p.give(first, floats {1, 2, 3, 4}).give(second, floats {10, 20, 30, 40});
    const auto partitions = partitions_of(p);
    EXPECT_EQ(ops_of(partitions), (std::vector<id_list> {{100, 101, 102, 103}, {104}}));
    run_in_order(partitions, p);
    EXPECT_EQ(data_of(p, 41), (floats {6, 22.375F, 25, 46.25F}));
}

TEST(layers, add_a_bias_and_a_residual_of_one_row) {
    // Both may change at each run. The first row of the product is -5 0.375.
    auto p = small_chain().give_data();
    p.x = u8(0, {1, 3});
    p.x_real = f32(3, {1, 3});
    p.product = f32(20, {1, 2});
    p.set_up();
    const lt bias = f32(30, {1, 2}), residual = f32(31, {1, 2});
    p.then({103, kind::Add, {p.product, bias}, {}, "bias"}, f32(40, {1, 2}));
    p.then({104, kind::Add, {residual, f32(40, {1, 2})}, {}, "add"}, f32(41, {1, 2}));
    p.give(p.x, std::vector<std::uint8_t> {1, 2, 3});
    p.give(bias, floats {1, 2}).give(residual, floats {10, 20});
    const auto c = compile_layer(p);
    EXPECT_EQ(values_of<float>(c.run(p.data)), (floats {6, 22.375F}));
    p.give(bias, floats {3, 4}).give(residual, floats {30, 40});
    EXPECT_EQ(values_of<float>(c.run(p.data)), (floats {28, 44.375F}));
}

TEST(layers, take_one_tensor_as_summand_and_as_constants) {
    // The first row of the product, -5 0.375, times t plus t, or plus t twice; t is of each run.
    for (const auto first : {kind::Multiply, kind::Add}) {
        auto p = small_chain().give_data();
        p.x = u8(0, {1, 3});
        p.x_real = f32(3, {1, 3});
        p.product = f32(20, {1, 2});
        p.set_up();
        const lt t = f32(30, {1, 2});
        p.then({103, first, {p.product, t}, {}, "first"}, f32(40, {1, 2}));
        p.then({104, kind::Add, {f32(40, {1, 2}), t}, {}, "add"}, f32(41, {1, 2}));
        p.give(p.x, std::vector<std::uint8_t> {1, 2, 3}).give(t, floats {1, 2});
        const bool multiplies = first == kind::Multiply;
        const auto c = compile_layer(p);
        EXPECT_EQ(values_of<float>(c.run(p.data)), multiplies ? (floats {-4, 2.75F}) : (floats {-3, 4.375F}));
        p.give(t, floats {10, 20});
        EXPECT_EQ(values_of<float>(c.run(p.data)), multiplies ? (floats {-40, 27.5F}) : (floats {15, 40.375F}));
    }
}

TEST(layers, end_before_an_add_that_may_broadcast_the_product) {
    // The product has one row, or an unknown number, and the sum has five: it may be larger than the product.
    const lt five = f32(30, {5, 2});
    const std::pair<lt, lt> cases[] = {{u8(0, {1, 3}), f32(40, {5, 2})}, {u8(0, {unknown, 3}), f32(40, {unknown, 2})}};
    for (const auto &[x, sum] : cases) {
        auto p = small_chain();
        const auto rows = x.get_dims().front();
        p.x = x;
        p.x_real = f32(3, {rows, 3});
        p.product = f32(20, {rows, 2});
        p.set_up();
        p.then({103, kind::Add, {p.product, five}, {}, "add"}, sum);
        EXPECT_EQ(ops_of(partitions_of(p)), (std::vector<id_list> {{100, 101, 102}, {103}}));
    }
}

TEST(layers, the_later_one_adds_what_the_earlier_one_gives) {
    auto p = small_chain().give_data();
    const lt w2 = s8(50, {3, 2}), w2_scale = f32(51, {1}), w2_real = f32(52, {3, 2}), product2 = f32(53, {2, 2});
    p.ops.push_back({105, kind::DynamicDequantize, {w2, w2_scale}, {w2_real}, "dw2"});
    p.ops.push_back({106, kind::MatMul, {p.x_real, w2_real}, {product2}, "product2"});
    p.then({107, kind::Add, {product2, p.product}, {}, "add"}, f32(54, {2, 2}));
    p.give(w2, std::vector<std::int8_t> {1, 0, 0, 1, 1, 1}).give(w2_scale, floats {2});
    const auto partitions = partitions_of(p);
    EXPECT_EQ(partitions.size(), 2U);
    run_in_order(partitions, p);
    // -2 -1 0, 1 2 3 times 1 0 1, 0 1 1: -2 -1, 4 5, with the scales 0.5 and 2.
    EXPECT_EQ(data_of(p, 54), (floats {-7, -0.625F, -4, 7.25F}));
}

TEST(layers, take_a_hardswish_that_is_written_by_parts) {
    const lt three = f32(30, {1}), sixth = f32(31, {1}), plus = f32(40, {2, 2}), clamped = f32(41, {2, 2}),
             times = f32(42, {2, 2});
    for (const bool divides : {true, false})
        for (const bool is_first : {true, false}) {
            auto p = small_chain().give_data();
            p.then({103, kind::Add, {p.product, three}, {}, "plus"}, plus);
            p.then(dg::op(104, kind::Clamp, {plus}, {}, "clamp")
                            .set_attr<float>(attr::min, 0)
                            .set_attr<float>(attr::max, 6),
                    clamped);
            p.then({105, kind::Multiply, is_first ? std::vector {p.product, clamped} : std::vector {clamped, p.product},
                           {}, "times"},
                    times);
            p.then({106, divides ? kind::Divide : kind::Multiply, {times, sixth}, {}, "sixth"}, f32(43, {2, 2}));
            p.give(three, floats {3}).give(sixth, floats {divides ? 6.0F : 1.0F / 6});
            floats expected;
            for (const auto v : small_product) {
                const float product = std::clamp(v + 3, 0.0F, 6.0F) * v;
                expected.push_back(divides ? product / 6 : product * (1.0F / 6));
            }
            EXPECT_EQ(layer_gives(p), expected) << divides << is_first;
        }
}

TEST(layers, take_a_dynamic_quantize_before) {
    auto p = small_chain().give_data();
    const lt raw = f32(70, {2, 3});
    p.ops.insert(p.ops.begin(), {111, kind::DynamicQuantize, {raw, p.x_scale, p.x_zp}, {p.x}, "q"});
    p.give(raw, floats {-1, -0.5F, 0, 0.5F, 1, 1.5F});
    const auto c = compile_layer(p);
    EXPECT_EQ(ids_of(c.inputs), (id_list {70, 1, 2, 10, 11, 12}));
    EXPECT_EQ(values_of<float>(c.run(p.data)), small_product);
}

#if !defined(DYNQUANT_TEST_DROP_IN) // which leaves computed scales to oneDNN, as oneDNN has none
TEST(layers, end_before_a_quantize_that_computes_its_scales) {
    auto p = small_chain().give_data();
    const lt codes = s8(40, {2, 2}), scale = f32(41, {1});
    p.ops.push_back(dg::op(103, kind::DynamicQuantize, {p.product}, {codes, scale}, "q")
                            .set_attr<std::string>(dg::own::scale_rule, "absmax")
                            .set_attr(dg::own::narrow, true));
    p.give(p.x_scale, floats {127.0F / 16}); // the largest product is 127
    const auto partitions = partitions_of(p);
    EXPECT_EQ(ops_of(partitions), (std::vector<id_list> {{100, 101, 102}, {103}}));
    run_in_order(partitions, p);
    EXPECT_EQ(data_of(p, 41), floats {1});
    EXPECT_EQ(data_of<std::int8_t>(p, 40), (std::vector<std::int8_t> {-79, 6, -127, 36})); // -79.375 5.95 -127 35.7
}

TEST(layers, take_a_quantize_that_computes_its_scales) {
    small_chain p;
    const lt raw = f32(70, {2, 3});
    p.x = s8(0, {2, 3});
    p.x_scale = f32(1, {2});
    p.ops = {with_mask({111, kind::DynamicQuantize, {raw}, {p.x, p.x_scale}, "q"}, 1),
            with_mask({100, kind::DynamicDequantize, {p.x, p.x_scale}, {p.x_real}, "dx"}, 1),
            by_channel(p.dequantize_w(), 1), p.matmul()};
    p.ops.front().set_attr(dg::own::scale_rule, std::string("absmax")).set_attr(dg::own::narrow, true);
    p.y = p.product;
    p.give_data();
    p.data.erase(0), p.data.erase(1);
    // Scales 1 and 0.5, the largest of a row by 127: codes 127 -2 3, 4 -127 6.
    p.give(raw, floats {127, -2, 3, 2, -63.5F, 3});
    const auto c = compile_layer(p);
    EXPECT_EQ(ids_of(c.inputs), (id_list {70, 10, 11, 12}));
    // 127 -2 3 times 1 3 -5, -3 3 5: 106, -372; 4 -127 6: -407, -363.
    EXPECT_EQ(values_of<float>(c.run(p.data)), (floats {212, -372 * 0.25F, -407, -363 * 0.125F}));
}
#endif

TEST(layers, are_not_made_of_what_is_dequantized_to_narrower_floats) {
    for (const auto narrow : {type::bf16, type::f16}) {
        small_chain p;
        p.x_real = lt(3, narrow, {2, 3}, layout::strided);
        p.w_real = lt(13, narrow, {3, 2}, layout::strided);
        p.product = lt(20, narrow, {2, 2}, layout::strided);
        p.set_up();
        p.give_data();
        auto partitions = partitions_of(p);
        auto ops = ops_of(partitions);
        std::ranges::sort(ops);
        EXPECT_EQ(ops, (std::vector<id_list> {{100}, {101}, {102}}));
        // What multiplies them is oneDNN's, which has no such types on each processor.
        std::erase_if(partitions, [](const auto &each) { return each.get_ops().front() == 102; });
        run_in_order(partitions, p);
        const std::vector<std::uint16_t> x = narrow == type::bf16
                ? std::vector<std::uint16_t> {0xbf80, 0xbf00, 0, 0x3f00, 0x3f80, 0x3fc0}
                : std::vector<std::uint16_t> {0xbc00, 0xb800, 0, 0x3800, 0x3c00, 0x3e00};
        EXPECT_EQ(data_of<std::uint16_t>(p, 3), x);
    }
}

TEST(layers, are_not_made_of_vectors) {
    small_chain p;
    p.x = u8(0, {3});
    p.x_real = f32(3, {3});
    p.product = f32(20, {2});
    p.set_up();
    p.give_data();
    p.give(p.x, std::vector<std::uint8_t> {4, 5, 6});
    const auto partitions = partitions_of(p);
    EXPECT_EQ(partitions.size(), 3U);
    run_in_order(partitions, p);
    EXPECT_EQ(data_of(p, 20), (floats {-8, 2.25F}));
}

TEST(layers, of_no_rows_columns_or_terms) {
    for (const auto &[rows, inner, columns] :
            {std::tuple<std::int64_t, std::int64_t, std::int64_t> {0, 3, 2}, {2, 0, 2}, {2, 3, 0}, {0, 0, 0}}) {
        small_chain p;
        p.x = u8(0, {rows, inner});
        p.x_real = f32(3, {rows, inner});
        p.w = s8(10, {inner, columns}, property::constant);
        p.w_real = f32(13, {inner, columns});
        p.w_scales = f32(11, {columns});
        p.w_zps = s32(12, {columns});
        p.product = f32(20, {rows, columns});
        p.set_up();
        p.give(p.x, std::vector<std::uint8_t>(static_cast<std::size_t>(rows * inner)));
        p.give(p.w, std::vector<std::int8_t>(static_cast<std::size_t>(inner * columns)));
        p.give(p.x_scale, floats {1}).give(p.x_zp, std::vector<std::int32_t> {0});
        p.give(p.w_scales, floats(static_cast<std::size_t>(columns), 1.0F));
        p.give(p.w_zps, std::vector<std::int32_t>(static_cast<std::size_t>(columns)));
        auto y = layer_gives(p); // of a buffer that is larger
        y.resize(static_cast<std::size_t>(rows * columns));
        EXPECT_EQ(y, floats(y.size()));
    }
}

TEST(layers, take_results_of_layout_any_within) {
    auto p = small_chain();
    const lt raw = f32(70, {2, 3});
    p.x = lt(0, type::u8, {2, 3}, layout::any);
    p.x_real = lt(3, type::f32, {2, 3}, layout::any);
    p.w_real = lt(13, type::f32, {3, 2}, layout::any);
    p.product = lt(20, type::f32, {2, 2}, layout::any);
    p.set_up();
    p.ops.insert(p.ops.begin(), {111, kind::DynamicQuantize, {raw, p.x_scale, p.x_zp}, {p.x}, "q"});
    p.then({103, kind::ReLU, {p.product}, {}, "relu"}, lt(21, type::f32, {2, 2}, layout::any));
    p.give_data().give(raw, floats {-1, -0.5F, 0, 0.5F, 1, 1.5F});
    EXPECT_EQ(layer_gives(p), (floats {0, 0.375F, 0, 2.25F}));
}

TEST(layers, take_a_product_twice) {
    auto square = small_chain().give_data(), twice = small_chain().give_data();
    square.then({103, kind::Multiply, {square.product, square.product}, {}, "square"}, f32(21, {2, 2}));
    EXPECT_EQ(layer_gives(square), (floats {25, 0.140625F, 64, 5.0625F}));
    twice.then({103, kind::Add, {twice.product, twice.product}, {}, "twice"}, f32(21, {2, 2}));
    EXPECT_EQ(layer_gives(twice), (floats {-10, 0.75F, -16, 4.5F}));
}

TEST(layers, end_at_what_takes_a_product_second) {
    const lt operand = f32(30, {2}), result = f32(21, {2, 2});
    struct {
        dg::op op;
        floats expected;
    } const cases[] = {
            {{103, kind::Subtract, {operand, f32(20, {2, 2})}, {result}, "less"}, {6, 1.625F, 9, -0.25F}},
            {{103, kind::Divide, {operand, f32(20, {2, 2})}, {result}, "by"}, {-0.2F, 2 / 0.375F, -0.125F, 2 / 2.25F}},
    };
    for (const auto &[op, expected] : cases) {
        auto p = small_chain().give_data();
        p.ops.push_back(op);
        p.give(operand, floats {1, 2});
        const auto partitions = partitions_of(p);
        EXPECT_EQ(ops_of(partitions), (std::vector<id_list> {{100, 101, 102}, {103}}));
        run_in_order(partitions, p);
        EXPECT_EQ(data_of(p, 21), expected);
    }
}

TEST(layers, take_operands_of_rank_0) {
    auto p = small_chain().give_data();
    const lt operand = f32(30, {}), result = f32(21, {2, 2});
    p.then({103, kind::Multiply, {p.product, operand}, {}, "twice"}, result).give(operand, floats {2});
    EXPECT_EQ(layer_gives(p), (floats {-10, 0.75F, -16, 4.5F}));
}

TEST(layers, end_where_an_operand_is_no_vector_of_columns) {
    for (const auto &[operand, expected] : {std::pair<lt, floats> {f32(30, {2, 2}), {-5, 0.75F, -24, 9}},
                 {f32(30, {2, 1}), {-5, 0.375F, -16, 4.5F}}}) {
        auto p = small_chain().give_data();
        p.then({103, kind::Multiply, {p.product, operand}, {}, "times"}, f32(21, {2, 2}));
        p.give(operand, operand.get_dims().back() == 2 ? floats {1, 2, 3, 4} : floats {1, 2});
        const auto partitions = partitions_of(p);
        EXPECT_EQ(ops_of(partitions), (std::vector<id_list> {{100, 101, 102}, {103}}));
        run_in_order(partitions, p);
        EXPECT_EQ(data_of(p, 21), expected);
    }
}

TEST(layers, end_where_an_operand_has_more_dims_or_unknown_ones) {
    auto p = small_chain().give_data();
    p.then({103, kind::Add, {p.product, f32(30, {1, 2, 2})}, {}, "add"}, f32(21, {1, 2, 2}));
    p.give(f32(30, {1, 2, 2}), floats {1, 2, 3, 4});
    auto partitions = partitions_of(p);
    EXPECT_EQ(ops_of(partitions), (std::vector<id_list> {{100, 101, 102}, {103}}));
    run_in_order(partitions, p);
    EXPECT_EQ(data_of(p, 21), (floats {-4, 2.375F, -5, 6.25F}));
    for (const auto &bias : {lt(30, type::f32, layout::strided), f32(30, {unknown})}) {
        p = small_chain();
        p.then({103, kind::BiasAdd, {p.product, bias}, {}, "bias"}, f32(21, {2, 2}));
        EXPECT_EQ(ops_of(partitions_of(p)), (std::vector<id_list> {{100, 101, 102}, {103}}));
    }
}

TEST(layers, end_before_a_quantize_of_rows_or_of_unknown_columns) {
    auto p = small_chain().give_data();
    p.then(with_scales(by_channel({103, kind::Quantize, {p.product}, {}, "q"}, 0), {1, 0.25F}, {0, 1}), s8(21, {2, 2}));
    const auto partitions = partitions_of(p);
    EXPECT_EQ(ops_of(partitions), (std::vector<id_list> {{100, 101, 102}, {103}}));
    run_in_order(partitions, p);
    EXPECT_EQ(data_of<std::int8_t>(p, 21), (std::vector<std::int8_t> {-5, 0, -31, 10}));
    p = small_chain();
    p.product = f32(20, {2, unknown});
    p.set_up();
    p.then(with_scales(by_channel({103, kind::Quantize, {p.product}, {}, "q"}, 1), {1, 2}, {0, 0}),
            s8(21, {2, unknown}));
    EXPECT_EQ(ops_of(partitions_of(p)), (std::vector<id_list> {{100, 101, 102}, {103}}));
}

TEST(layers, take_a_slope_of_channels_that_lie_last) {
    auto p = small_chain().give_data();
    p.then(dg::op(103, kind::PReLU, {p.product, f32(30, {2})}, {}, "prelu")
                    .set_attr<bool>(attr::per_channel_broadcast, false),
            f32(21, {2, 2}));
    p.give(f32(30, {2}), floats {2, 4});
    EXPECT_EQ(layer_gives(p), (floats {-10, 0.375F, -16, 2.25F}));
}

TEST(layers, are_not_made_where_the_rank_of_x_is_unknown) {
    small_chain p; // which may be 1
    p.x = lt(0, type::u8, layout::strided);
    p.x_real = lt(3, type::f32, layout::strided);
    p.product = lt(20, type::f32, layout::strided);
    p.set_up();
    const auto partitions = partitions_of(p);
    EXPECT_EQ(ops_of(partitions), (std::vector<id_list> {{100}, {101}, {102}}));
}

} // namespace
} // namespace dynquant::test

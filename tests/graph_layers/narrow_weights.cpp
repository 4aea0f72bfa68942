// Floats times weights that stay narrow: Dequantize of w alone before a MatMul. Random ones have sums that f32 holds
// exactly in any order, so that they are expected bit for bit.
#include <algorithm>
#include <cmath>
#include <string>
#include <tuple>

#include "by_hand.hpp"
#include "random_narrow_chain.hpp"
#include "support/environment.hpp"
#include "support/sampling.hpp"

namespace dynquant::test {
namespace {

namespace newer = dynquant::graph::newer;

/// x, 2 x 3 of f32, times w of small_chain: 1 -3, 3 3, -5 5 by the scales 2 and 0.25 of its columns.
struct narrow_chain : program {
    lt x = f32(0, {2, 3}), w, w_scales = f32(11, {2}), w_zps = s32(12, {2}), w_real = f32(13, {3, 2});
    lt product = f32(20, {2, 2});

    explicit narrow_chain(property of_w = property::constant)
        : w(s8(10, {3, 2}, of_w)) {
        ops = {by_channel({101, kind::DynamicDequantize, {w, w_scales, w_zps}, {w_real}, "dw"}, 1),
                {102, kind::MatMul, {x, w_real}, {product}, "product"}};
        y = product;
        give(x, floats {1, 2, 3, 0.5F, -1, 4});
        give(w, std::vector<std::int8_t> {1, -2, 3, 4, -5, 6});
        give(w_scales, floats {2, 0.25F}).give(w_zps, std::vector<std::int32_t> {0, 1});
    }
};

// 1 + 6 - 15, -3 + 6 + 15; 0.5 - 3 - 20, -1.5 - 3 + 20.
const floats narrow_product = {-16, 4.5F, -45, 3.875F};

TEST(narrow_weights, are_multiplied_as_they_are) {
    for (const auto of_w : {property::constant, property::variable}) {
        const narrow_chain p(of_w);
        const auto c = compile_layer(p);
        EXPECT_EQ(ids_of(c.inputs), (id_list {10, 11, 12, 0}));
        EXPECT_EQ(values_of<float>(c.run(p.data)), narrow_product);
        // Scales and zps of the next run: 1 and 1, 0 and 0. The columns are 1 3 -5 and -2 4 6.
        auto q = p;
        q.give(p.w_scales, floats {1, 1}).give(p.w_zps, std::vector<std::int32_t> {0, 0});
        EXPECT_EQ(values_of<float>(c.run(q.data)), (floats {-8, 24, -22.5F, 19}));
    }
}

TEST(narrow_weights, with_zero_points_beyond_their_type) {
    for (const auto of_w : {property::constant, property::variable}) {
        narrow_chain p(of_w);
        p.give(p.w_zps, std::vector<std::int32_t> {1000, -1000});
        // Less 1000: -999 -997 -1005; plus 1000: 998 1004 1006; x sums to 6 and 3.5.
        EXPECT_EQ(layer_gives(p),
                (floats {2 * (-8 - 6000), 0.25F * (24 + 6000), 2 * (-22.5F - 3500), 0.25F * (19 + 3500)}));
    }
}

TEST(narrow_weights, with_a_bias_post_ops_and_a_residual) {
    narrow_chain p;
    const lt bias = f32(30, {2}), residual = f32(31, {2, 2}), sum = f32(40, {2, 2});
    p.ops.back() = {102, kind::MatMul, {p.x, p.w_real, bias}, {p.product}, "product"};
    p.ops.push_back({103, kind::Add, {residual, p.product}, {sum}, "add"});
    p.ops.push_back({104, kind::ReLU, {sum}, {f32(41, {2, 2})}, "relu"});
    p.y = f32(41, {2, 2});
    p.give(bias, floats {1, 2}).give(residual, floats {10, 20, 30, 40});
    EXPECT_EQ(layer_gives(p), (floats {0, 26.5F, 0, 45.875F}));
}

TEST(narrow_weights, of_float8_by_static_scales) {
    // 1 2, -1 0.5, 4 -2 times 2; x is 1 2 3, 0.5 -1 4.
    program p;
    const lt x = f32(0, {2, 3}), w(10, newer::f8_e4m3, {3, 2}, layout::strided, property::constant);
    const lt w_real = f32(13, {3, 2});
    p.y = f32(20, {2, 2});
    p.ops = {dg::op(101, kind::Dequantize, {w}, {w_real}, "dw").set_attr(attr::scales, floats {2}),
            {102, kind::MatMul, {x, w_real}, {p.y}, "product"}};
    p.give(x, floats {1, 2, 3, 0.5F, -1, 4});
    p.inputs[10] = w;
    p.data[10] = bytes_of(std::vector<std::uint8_t> {0x38, 0x40, 0xb8, 0x30, 0x48, 0xc0});
    EXPECT_EQ(layer_gives(p), (floats {22, -6, 35, -15}));
}

TEST(narrow_weights, by_static_scales_of_columns) {
    narrow_chain p;
    p.ops.front() = with_scales(by_channel({101, kind::Dequantize, {p.w}, {p.w_real}, "dw"}, 1), {2, 0.25F}, {0, 1});
    const auto c = compile_layer(p);
    EXPECT_EQ(ids_of(c.inputs), (id_list {10, 0}));
    EXPECT_EQ(values_of<float>(c.run(p.data)), narrow_product);
}

TEST(narrow_weights, between_tensors_with_strides_by_scales_of_16_bits) {
    for (const auto scale_type : {type::f16, type::bf16}) {
        narrow_chain p;
        p.x = lt(0, type::f32, {2, 3}, dims {1, 2}); // column by column
        p.w_scales = lt(11, scale_type, dims {2}, layout::strided);
        p.ops = {by_channel({101, kind::DynamicDequantize, {p.w, p.w_scales, p.w_zps}, {p.w_real}, "dw"}, 1),
                {102, kind::MatMul, {p.x, p.w_real}, {p.product}, "product"}};
        p.y = lt(20, type::f32, {2, 2}, dims {3, 1});
        p.give(p.x, floats {1, 0.5F, 2, -1, 3, 4});
        const std::uint16_t quarter = scale_type == type::f16 ? 0x3400 : 0x3e80; // 2 is 0x4000 in both
        p.give(p.w_scales, std::vector<std::uint16_t> {0x4000, quarter});
        const auto y = layer_gives(p);
        EXPECT_EQ((floats {y[0], y[1], y[3], y[4]}), narrow_product);
    }
}

/// w, 3 x 4, has scales 2, 4; 1, 2; 0.5, 1 and zero points 0, 1; -1, 0; 2, beyond; in groups of a row and two columns.
struct chain_of_column_groups : program {
    explicit chain_of_column_groups(property of_w, std::int32_t beyond) {
        const lt x = f32(0, {2, 3}), w = s8(10, {3, 4}, of_w), w_scales = f32(11, {3, 2}), w_zps = s32(12, {3, 2});
        const lt w_real = f32(13, {3, 4});
        y = f32(20, {2, 4});
        ops = {with_mask({101, kind::DynamicDequantize, {w, w_scales, w_zps}, {w_real}, "dw"}, 3)
                        .set_attr(newer::group_shape, numbers {1, 2}),
                {102, kind::MatMul, {x, w_real}, {y}, "product"}};
        give(x, floats {1, 2, 3, 0.5F, -1, 4});
        give(w, std::vector<std::int8_t> {1, -2, 3, 4, -5, 6, 7, -8, 9, 10, -11, 12});
        give(w_scales, floats {2, 4, 1, 2, 0.5F, 1});
        give(w_zps, std::vector<std::int32_t> {0, 1, -1, 0, 2, beyond});
    }
};

// Scaled weights: 2 -4 8 12, -4 7 14 -16, 3.5 4, and -11 - zp, 12 - zp.
TEST(narrow_weights, of_groups_of_columns) {
    for (const auto of_w : {property::constant, property::variable}) {
        EXPECT_EQ(layer_gives(chain_of_column_groups(of_w, -3)), (floats {4.5F, 22, 12, 25, 19, 7, -42, 82})); // -8, 15
        EXPECT_EQ(layer_gives(chain_of_column_groups(of_w, 1000)),
                (floats {4.5F, 22, 36 - 3033, -20 - 2964, 19, 7, -10 - 4044, 22 - 3952})); // -1011, -988
    }
}

/// x is 127 and 63.625, and in its second block 127: scales of 1, codes of 127, 64 and 127. They multiply 2 -3, 5 1 and
/// 4 7, in blocks with the scales 1 2 and 2 0.5: 254 + 320 = 574, and 508; -381 + 64 = -317, and 889.
struct chain_in_blocks : program {
    explicit chain_in_blocks(property of_w) {
        const lt x = f32(0, {1, 32}), w = s8(10, {32, 2}, of_w), w_scales = f32(11, {2, 2}), w_real = f32(13, {32, 2});
        y = f32(20, {1, 2});
        ops = {with_mask({101, kind::DynamicDequantize, {w, w_scales}, {w_real}, "dw"}, 3)
                        .set_attr(newer::group_shape, numbers {16, 1}),
                {102, kind::MatMul, {x, w_real}, {y}, "product"}};
        floats of_x(32);
        of_x[0] = of_x[16] = 127;
        of_x[1] = 63.625F;
        std::vector<std::int8_t> codes(64, 9);
        std::ranges::copy(std::vector<std::int8_t> {2, -3, 5, 1}, codes.begin());
        std::ranges::copy(std::vector<std::int8_t> {4, 7}, codes.begin() + 32);
        give(x, of_x).give(w, codes).give(w_scales, floats {1, 2, 2, 0.5F});
    }
};

TEST(narrow_weights, in_blocks_by_x_that_is_quantized) {
    const floats by_floats = {254 + 318.125F + 2 * 508, 2 * (-381 + 63.625F) + 444.5F};
    EXPECT_EQ(layer_gives(chain_in_blocks(property::constant)), by_floats);
    {
        const scoped_variable mode("DYNQUANT_WEIGHT_ONLY", "int8_x");
        EXPECT_EQ(layer_gives(chain_in_blocks(property::constant)), (floats {574 + 2 * 508, 2 * -317 + 444.5F}));
        EXPECT_EQ(layer_gives(chain_in_blocks(property::variable)), by_floats);
        EXPECT_EQ(layer_gives(narrow_chain()), narrow_product); // not in blocks
    }
    const scoped_variable mode("DYNQUANT_WEIGHT_ONLY", "float_x");
    EXPECT_EQ(layer_gives(chain_in_blocks(property::constant)), by_floats);
}

#if !defined(DYNQUANT_TEST_DROP_IN) // which leaves the layer to oneDNN, and says why once
TEST(narrow_weights, by_an_environment_that_is_wrong) {
    const auto partitions = partitions_of(chain_in_blocks(property::constant));
    for (const auto &[variable, value, message] :
            {std::tuple {"DYNQUANT_WEIGHT_ONLY", "int8",
                     "expected float_x or int8_x, given 'int8' (did you mean 'int8_x'?)"},
                    {"DYNQUANT_MAX_ISA", "sse", "expected scalar, avx2, avx512 or neon, given 'sse'"}}) {
        const scoped_variable mode(variable, value);
        try {
            compile(partitions.front(), chain_in_blocks(property::constant));
            ADD_FAILURE() << variable << ": expected an error";
        } catch (const dnnl::error &e) {
            EXPECT_EQ(e.status, dnnl_invalid_arguments);
            EXPECT_EQ(std::string(e.message), std::string("op 102 'product' (MatMul): ") + variable + ": " + message);
        }
    }
}
#endif

TEST(narrow_weights, that_a_quantize_follows) {
    narrow_chain p;
    p.ops.push_back(with_scales({103, kind::Quantize, {p.product}, {s8(40, {2, 2})}, "q"}, {0.5F}, {1}));
    p.y = s8(40, {2, 2});
    const auto partitions = partitions_of(p);
    EXPECT_EQ(ops_of(partitions), (std::vector<id_list> {{101, 102}, {103}}));
    run_in_order(partitions, p);
    EXPECT_EQ(data_of<std::int8_t>(p, 40), (std::vector<std::int8_t> {-31, 10, -89, 9}));
}

TEST(narrow_weights, that_two_products_read) {
    narrow_chain p;
    const lt x2 = f32(50, {1, 3});
    p.ops.push_back({103, kind::MatMul, {x2, p.w_real}, {f32(51, {1, 2})}, "product2"});
    p.give(x2, floats {1, 1, 1});
    run_in_order(partitions_of(p), p);
    EXPECT_EQ(data_of(p, 20), narrow_product);
    EXPECT_EQ(data_of(p, 51), (floats {-2, 1.25F}));
}

// Two transposed matrices of nine, so that the second one begins within a byte: columns 1 2 3, -1 -2 -3, 4 5 6 and 7 -8
// 1, 2 0 -2, -5 3 1.
TEST(narrow_weights, of_4_bits_in_transposed_matrices_that_share_a_byte) {
    for (const auto of_w : {property::constant, property::variable}) {
        program p;
        const lt x = f32(0, {2, 1, 3}), w(10, newer::s4, dims {2, 3, 3}, layout::strided, of_w), scale = f32(11, {1}),
                 real = f32(13, {2, 3, 3});
        p.y = f32(20, {2, 1, 3});
        p.ops = {{101, kind::DynamicDequantize, {w, scale}, {real}, "dw"},
                {102, kind::MatMul, {x, real}, {p.y}, "product"}};
        p.ops.back().set_attr<bool>(attr::transpose_b, true);
        std::vector<std::uint8_t> packed(9);
        const int codes[] = {1, 2, 3, -1, -2, -3, 4, 5, 6, 7, -8, 1, 2, 0, -2, -5, 3, 1};
        for (std::size_t i = 0; i < 18; ++i)
            packed[i / 2] |= static_cast<std::uint8_t>((codes[i] & 15) << i % 2 * 4);
        p.give(x, floats {1, 2, 3, 2, -1, 0.5F}).give(w, packed).give(scale, floats {2});
        EXPECT_EQ(layer_gives(p), (floats {28, -28, 64, 45, 6, -25}));
    }
}

TEST(narrow_weights, by_an_x_that_is_added_too) {
    // 1 2, 3 -1 times 1 -3, 3 3 is 7 3, 0 -12; the scales 2 and 0.25 make it 14 0.75, 0 -3.
    narrow_chain p;
    p.x = f32(0, {2, 2});
    p.w = s8(10, {2, 2}, property::constant);
    p.w_real = f32(13, {2, 2});
    p.y = f32(40, {2, 2});
    p.ops = {by_channel({101, kind::DynamicDequantize, {p.w, p.w_scales, p.w_zps}, {p.w_real}, "dw"}, 1),
            {102, kind::MatMul, {p.x, p.w_real}, {p.product}, "product"},
            {103, kind::Add, {p.product, p.x}, {p.y}, "residual"}};
    p.give(p.x, floats {1, 2, 3, -1}).give(p.w, std::vector<std::int8_t> {1, -2, 3, 4});
    const auto partitions = partitions_of(p);
    run_in_order(partitions, p);
    EXPECT_EQ(data_of(p, 40), (floats {15, 2.75F, 3, -4}));
}

/// DYNQUANT_TEST_CHAINS: how many, from seed 0 on.
TEST(narrow_weights, of_random_chains) {
    const char *text = std::getenv("DYNQUANT_TEST_CHAINS");
    case_sampler sampler;
    for (std::uint64_t seed = 0; seed < (text ? std::stoull(text) : 600) && !testing::Test::HasFatalFailure(); ++seed)
        if (sampler.takes()) {
            SCOPED_TRACE(testing::Message() << "seed " << seed);
            run_narrow_chain(random_narrow_chain(number_source(seed)));
        }
}

} // namespace
} // namespace dynquant::test

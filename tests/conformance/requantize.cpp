// direction::requantize gives the values, worked out by hand, of ONNX's sequence Add, Cast, Mul, Mul, Relu and
// QuantizeLinear by scale 1 and zero point 0, on every kernel.
#include <cmath>
#include <limits>
#include <optional>

#include <gtest/gtest.h>

#include "support/direct.hpp"

namespace dynquant::test {
namespace {

using enum data_type;
using integers = std::vector<std::int64_t>;
using reals = std::vector<float>;

constexpr float infinity = std::numeric_limits<float>::infinity(), nan = std::numeric_limits<float>::quiet_NaN();

/// A row of sums, under one set of parameters or one for each sum.
struct requantizing {
    data_type dst = s8;
    reals scales = {1};
    reals second_scales = {}; // none, or one for each of scales
    integers bias = {};       // none, or one for each of scales
    bool relu = false;

    integers operator()(const integers &sums) const {
        const auto count = static_cast<std::int64_t>(sums.size());
        const dims block = {scales.size() == 1 ? count : 1};
        quantization q;
        q.dir = direction::requantize;
        q.src = {s32, {count}, {}};
        q.dst = {dst, {count}, {}};
        q.scales = {f32, block, {}};
        if (!second_scales.empty()) q.second_scales = {f32, block, {}};
        if (!bias.empty()) q.bias = {s32, block, {}};
        q.relu = relu;
        const auto at_run = by_all(q, encode(s32, sums));
        q.scales.values.assign(scales.begin(), scales.end());
        if (q.second_scales) q.second_scales->values.assign(second_scales.begin(), second_scales.end());
        if (q.bias) q.bias->values.assign(bias.begin(), bias.end());
        EXPECT_EQ(by_all(q, encode(s32, sums)), at_run) << "with parameters that are known beforehand";
        return at_run;
    }

  private:
    /// The dst on which all kernels agree. Known parameters have no buffer.
    integers by_all(const quantization &q, const std::vector<std::byte> &src) const {
        std::optional<integers> result;
        const bool known = !q.scales.values.empty();
        const auto scale_bytes = bytes_of(scales), second_bytes = bytes_of(second_scales),
                   bias_bytes = encode(s32, bias);
        for (const auto &v : universal_variants()) {
            std::vector bytes(bytes_spanned(q.dst), std::byte {0});
            arguments args;
            args.src = src.data();
            args.dst = bytes.data();
            if (!known) args.scales = scale_bytes.data();
            if (!known) args.second_scales = second_bytes.data();
            if (!known) args.bias = bias_bytes.data();
            prepare(q, v.forced()).run(args);
            integers values;
            for (std::int64_t i = 0; i < q.dst.dims[0]; ++i)
                values.push_back(integer_from(dst, get_bits(dst, bytes.data(), i)));
            if (!result) result = values;
            EXPECT_EQ(*result, values) << v << ": " << describe(q);
        }
        return *result;
    }
};

TEST(requantize, multiplies_and_rounds_to_even) {
    EXPECT_EQ((requantizing {.scales = {0.5}}({1, 2, 3, 5, -1, -3, -5, 7})), (integers {0, 1, 2, 2, 0, -2, -2, 4}));
    EXPECT_EQ((requantizing {.scales = {0.25}}({1, 2, 3, 6, 10, -2, -6, -10})), (integers {0, 0, 1, 2, 2, 0, -2, -2}));
    EXPECT_EQ((requantizing {.scales = {-0.5}}({1, 3, -3, 100})), (integers {0, -2, 2, -50}));
}

TEST(requantize, saturates) {
    EXPECT_EQ((requantizing {.dst = s8}({127, 128, -128, -129, INT32_MAX, INT32_MIN})),
            (integers {127, 127, -128, -128, 127, -128}));
    EXPECT_EQ((requantizing {.dst = u8}({255, 256, -1, 0, INT32_MAX, INT32_MIN})), (integers {255, 255, 0, 0, 255, 0}));
    // 127.5 would round to 128, and -128.5 to -128.
    EXPECT_EQ((requantizing {.dst = s8, .scales = {0.5}}({255, -257, 256, -258})), (integers {127, -128, 127, -128}));
    EXPECT_EQ((requantizing {.dst = u8, .scales = {0.5}}({509, 510, 511, -1})), (integers {254, 255, 255, 0}));
    // Products beyond s32 and beyond f32.
    EXPECT_EQ((requantizing {.scales = {0x1p100F}}({1, -1, 0})), (integers {127, -128, 0}));
    EXPECT_EQ((requantizing {.scales = {0x1p127F}}({INT32_MAX, INT32_MIN, 0})), (integers {127, -128, 0}));
}

TEST(requantize, adds_the_bias_and_wraps) {
    EXPECT_EQ((requantizing {.bias = {10}}({0, -10, 117, 118})), (integers {10, 0, 127, 127}));
    EXPECT_EQ((requantizing {.bias = {1}}({INT32_MAX})), (integers {-128}));
    EXPECT_EQ((requantizing {.dst = u8, .bias = {-1}}({INT32_MIN})), (integers {255}));
    // 2^31 - 1 + 2^31 - 1 is -2.
    EXPECT_EQ((requantizing {.bias = {INT32_MAX}}({INT32_MAX, INT32_MIN, INT32_MIN + 1})), (integers {-2, -1, 0}));
    EXPECT_EQ((requantizing {.bias = {INT32_MIN}}({INT32_MIN, INT32_MAX, INT32_MIN + 5})), (integers {0, -1, 5}));
}

TEST(requantize, rounds_sums_to_f32) {
    // 2^31 - 1 and the tie 2^31 - 64 become 2^31, which by 3 * 2^-32 is 1.5; 2^31 - 65 becomes 2^31 - 128.
    EXPECT_EQ(
            (requantizing {.scales = {0x1.8p-31F}}({INT32_MAX, INT32_MAX - 63, INT32_MAX - 64})), (integers {2, 2, 1}));
    // 2^24 + 1 becomes 2^24, which by 2^-25 is the tie 0.5; 2^24 + 3 becomes 2^24 + 4.
    EXPECT_EQ((requantizing {.scales = {0x1p-25F}}({16777217, 16777218, 16777219})), (integers {0, 1, 1}));
    // Sums are rounded after the bias is added.
    EXPECT_EQ((requantizing {.scales = {0x1p-25F}, .bias = {1}}({16777216, 16777217})), (integers {0, 1}));
}

TEST(requantize, rounds_every_product_to_f32) {
    // 257 * 65281 is 2^24 + 1 and becomes 2^24, which by 2^-25 is the tie 0.5. One more is beyond it.
    EXPECT_EQ((requantizing {.scales = {257}, .second_scales = {0x1p-25F}}({65281, -65281, 65282})),
            (integers {0, 0, 1}));
    // (2^12 + 1) (2^12 - 1) is 2^24 - 1, which is exact and below the tie.
    EXPECT_EQ((requantizing {.scales = {4095}, .second_scales = {0x1p-25F}}({4097, 4098})), (integers {0, 1}));
}

TEST(requantize, two_multipliers_are_not_their_product) {
    // 1 / 3 is here (2^25 + 1) / (3 * 2^25); 15 times that is 5 and 5 * 2^-25, which becomes 5, and 12.5 is a tie.
    const float third = 0x1.555556p-2F;
    EXPECT_EQ((requantizing {.scales = {third}, .second_scales = {2.5}}({15, -15})), (integers {12, -12}));
    // third * 2.5 becomes 13981014 / 2^24; 15 times that is 12.5 + 10 * 2^-24, and becomes 12.5 + 2^-20.
    EXPECT_EQ((requantizing {.scales = {13981014 * 0x1p-24F}}({15, -15})), (integers {13, -13}));
}

TEST(requantize, relu_keeps_what_is_positive_and_nan) {
    EXPECT_EQ((requantizing {.relu = true}({-128, -1, 0, 1, 127, 128})), (integers {0, 0, 0, 1, 127, 127}));
    EXPECT_EQ((requantizing {.scales = {-1}, .relu = true}({-5, 5, 0})), (integers {5, 0, 0}));
    EXPECT_EQ((requantizing {.scales = {infinity}, .relu = true}({0, 1, -1})), (integers {-128, 127, 0}));
    EXPECT_EQ((requantizing {.dst = u8, .scales = {infinity}, .relu = true}({0, 1, -1})), (integers {0, 255, 0}));
    EXPECT_EQ((requantizing {.scales = {nan}, .relu = true}({1, -1})), (integers {-128, -128}));
}

TEST(requantize, nan_is_the_lowest_value) {
    EXPECT_EQ((requantizing {.scales = {infinity}}({0, 1, -1})), (integers {-128, 127, -128}));
    EXPECT_EQ((requantizing {.dst = u8, .scales = {infinity}}({0, 1, -1})), (integers {0, 255, 0}));
    EXPECT_EQ((requantizing {.scales = {nan}}({0, 1})), (integers {-128, -128}));
    // Infinity by 0, and 2^127 by 2 by 0.
    EXPECT_EQ((requantizing {.scales = {infinity}, .second_scales = {0}}({1})), (integers {-128}));
    EXPECT_EQ((requantizing {.scales = {0x1p127F}, .second_scales = {0}}({2, 1})), (integers {-128, 0}));
}

TEST(requantize, subnormal_products_are_not_flushed) {
    // 2^-149 by 2^24 by 2^125 is 1.
    EXPECT_EQ(
            (requantizing {.scales = {0x1p-149F}, .second_scales = {0x1p125F}}({1 << 24, 3 << 24})), (integers {1, 3}));
    // And 2^-127 by 2^127.
    EXPECT_EQ(
            (requantizing {.scales = {0x1p-149F}, .second_scales = {0x1p127F}}({1 << 22, 3 << 22})), (integers {1, 3}));
    EXPECT_EQ((requantizing {.scales = {1}, .second_scales = {0x1p-149F}}({INT32_MAX, INT32_MIN})), (integers {0, 0}));
}

TEST(requantize, parameters_go_with_their_channels) {
    EXPECT_EQ((requantizing {.scales = {1, 0.5, 2, -1}}({10, 10, 10, 10})), (integers {10, 5, 20, -10}));
    EXPECT_EQ((requantizing {.scales = {1, 2, 3}, .second_scales = {2, 0.5, 1}, .bias = {1, -1, 0}}({4, 4, 4})),
            (integers {10, 3, 12}));
}

TEST(requantize, any_layout) {
    quantization q;
    q.dir = direction::requantize;
    q.src = {s32, {2, 2, 3}, {6, 1, 2}}; // the channels innermost
    q.dst = {u8, {2, 2, 3}, {}};
    q.scales = {f32, per_channel(q.src.dims, 1), {}};
    q.bias = {s32, per_channel(q.src.dims, 1), {}};
    const sample s(q,
            {encode(s32, {1, 10, 2, 20, 3, 30, 4, 40, 5, 50, 6, 60}), encode_reals(f32, {2, 0.5}), {}, {},
                    encode(s32, {1, -2})});
    EXPECT_EQ(s.expected, encode(u8, {4, 6, 8, 4, 9, 14, 10, 12, 14, 19, 24, 29}));
    EXPECT_TRUE(computed_right(s, variants_for(s)));
}

} // namespace
} // namespace dynquant::test

// Every entry of the activation tables is right, by the oracle's formulas and by Tanh and Sigmoid in long double, whose
// 64 bits decide to which float a value rounds.
#include <algorithm>
#include <array>
#include <cmath>
#include <limits>

#include <gtest/gtest.h>

#include "graph_builder.hpp"
#include "oracle/statements.hpp"
#include "support/random.hpp"

namespace dynquant::models {
namespace {

using dynquant::test::nearest_float16, dynquant::test::oracle::dequantize;
using test::graph_builder;
namespace oracle = dynquant::test::oracle;
namespace type = test::type;

struct function {
    const char *name;
    long double (*exact)(long double);
};

constexpr function functions[] = {{"Tanh", [](long double x) { return std::tanh(x); }},
        {"Sigmoid", [](long double x) { return 1 / (1 + std::exp(-x)); }}};

/// Rounds `real`. Both ends of the error interval of long double's functions must round to the same number.
template <typename Round>
auto rounded_for_certain(const Round &round, long double real) {
    const auto error = std::abs(real) * 0x1p-60L; // 8 units in the last place
    EXPECT_EQ(round(real - error), round(real + error));
    return round(real);
}

float nearest_float(long double real) {
    return static_cast<float>(real);
}

/// ONNX defines functions of float16 so: computed in float, then cast.
float rounded_to_float16(long double real) {
    return nearest_float16(nearest_float(real));
}

/// A random quantization to 8 bits.
struct quantized_type {
    onnx::element_type type;
    float scale;
    int zero_point;

    int lowest() const { return type == type::int8 ? -128 : 0; }
    int of_bits(std::uint8_t bits) const { return type == type::int8 ? static_cast<std::int8_t>(bits) : bits; }
    /// ONNX's QuantizeLinear: clamp(RNE(value / scale) + zero point).
    int of(float value) const {
        constexpr auto wide = std::int64_t {1} << 20;
        const auto rounded = oracle::quantize(value, scale, 0, -wide, wide) + zero_point;
        return static_cast<int>(std::clamp<std::int64_t>(rounded, lowest(), lowest() + 255));
    }
};

class quantization_source {
  public:
    /// The scale is in 2^exponent to 2^(exponent + spread). Every other scale is a multiple of a thousandth.
    quantized_type next(int exponent, int spread) {
        const bool is_signed = number() < 0.5, is_round = number() < 0.5;
        const double scale = std::exp2(exponent + spread * number());
        const double thousandths = std::max(1.0, std::nearbyint(scale * 1000));
        return {is_signed ? type::int8 : type::uint8, static_cast<float>(is_round ? thousandths / 1000 : scale),
                static_cast<int>(number() * 64) - (is_signed ? 32 : 0)};
    }

  private:
    double number() { return static_cast<double>(random_.within(0, UINT32_MAX)) * 0x1p-32; }

    dynquant::test::random_source random_ {1};
};

graph_builder quantize(graph_builder b, const quantized_type &q) {
    return b.quantize(q.type, q.scale, static_cast<std::int8_t>(q.zero_point));
}

/// A layer whose rescaled values are x, which holds all bytes in turn as u8 or s8.
graph_builder all_bytes(onnx::element_type x_type) {
    graph_builder b({x_type, {256, 1}});
    b.then("MatMulInteger", {b.constant<std::int8_t>(type::int8, {1, 1}, {1})});
    return b.cast(type::float32).mul(1).quantize(x_type);
}

std::vector<std::uint8_t> results_of(const graph &g, const void *x, std::size_t count, const char *pattern) {
    const auto m = model::parse(write(g), "table.onnx");
    EXPECT_EQ(m.stages().size(), 1U);
    EXPECT_EQ(m.stages().front().pattern, pattern);
    std::vector<std::uint8_t> y(count);
    m.run({x}, {y.data()});
    return y;
}

void expect_table(const function &f, const quantized_type &from, const quantized_type &to, bool in_float16) {
    auto b = all_bytes(from.type);
    b.then("DequantizeLinear",
            {b.number(from.scale), b.constant(from.type, {}, std::vector {static_cast<std::int8_t>(from.zero_point)})});
    if (in_float16) b.cast(type::float16).then(f.name).cast(type::float32);
    if (!in_float16) b.then(f.name);
    std::array<std::uint8_t, 256> x;
    for (std::size_t i = 0; i < x.size(); ++i)
        x[i] = static_cast<std::uint8_t>(i);
    const auto pattern = std::string("fully connected with ") + (in_float16 ? "fp16 " : "int8 ") + f.name;
    const auto table = results_of(quantize(b, to).finished(), x.data(), 256, pattern.c_str());
    for (const auto bits : x) {
        const auto real = dequantize(from.of_bits(bits), from.scale, from.zero_point);
        const auto value = in_float16 ? rounded_for_certain(rounded_to_float16, f.exact(nearest_float16(real)))
                                      : rounded_for_certain(nearest_float, f.exact(real));
        ASSERT_EQ(to.of_bits(table[bits]), to.of(value))
                << pattern << " of " << from.of_bits(bits) << ", from scale " << from.scale << " and zero point "
                << from.zero_point << " to " << to.scale << " and " << to.zero_point;
    }
}

TEST(activation_table, from_8_bits_at_drawn_scales) {
    quantization_source draw;
    for (const auto &f : functions)
        for (const bool in_float16 : {false, true})
            for (int i = 0; i < 60; ++i) {
                const auto from = draw.next(-8, 5);
                expect_table(f, from, draw.next(-9, 3), in_float16);
            }
}

TEST(activation_table, at_the_scales_of_whole_ranges) {
    for (const auto from_type : {type::int8, type::uint8})
        for (const bool in_float16 : {false, true}) {
            expect_table(functions[0], {from_type, 0.03F, 0}, {type::int8, 1 / 127.F, 0}, in_float16);
            expect_table(functions[1], {from_type, 0.03F, 0}, {type::uint8, 1 / 255.F, 0}, in_float16);
        }
}

// ---- Rescaled values that are cast to float16: all values that are not NaN ----

constexpr int integers = 4096, exponents = 30; // -2048 to 2047, times 2^-24 to 2^5

/// y[i][e] is the result for the float16 (i - 2048) 2^(e - 24), and in the last column that for infinity.
graph_builder all_float16() {
    graph_builder b({type::int8, {integers, 2}});
    std::vector<std::int8_t> w(2 * (exponents + 1), 1);
    std::fill_n(w.begin(), exponents + 1, std::int8_t {64});
    b.then("MatMulInteger", {b.constant(type::int8, {2, exponents + 1}, w)}).cast(type::float32);
    std::vector<float> multipliers;
    multipliers.reserve(exponents + 1);
    for (int e = 0; e < exponents; ++e)
        multipliers.push_back(std::ldexp(1.0F, e - 24));
    multipliers.push_back(0x1p20F);
    return b.then("Mul", {b.constant(type::float32, {exponents + 1}, multipliers)}).cast(type::float16);
}

/// The integers, each as two digits to the base 64.
std::vector<std::int8_t> all_integers() {
    std::vector<std::int8_t> x;
    x.reserve(2 * integers);
    for (int i = 0; i < integers; ++i) {
        x.push_back(static_cast<std::int8_t>(i / 64 - 32));
        x.push_back(static_cast<std::int8_t>(i % 64));
    }
    return x;
}

float float16_at(int i, int e) {
    return nearest_float16(std::ldexp(static_cast<float>(i - 2048), e == exponents ? 20 : e - 24));
}

TEST(activation_table, of_every_float16) {
    quantization_source draw;
    const auto x = all_integers();
    for (const auto &f : functions) {
        std::vector<float> expected;
        expected.reserve(integers * (exponents + 1));
        for (int i = 0; i < integers; ++i)
            for (int e = 0; e <= exponents; ++e)
                expected.push_back(rounded_for_certain(rounded_to_float16, f.exact(float16_at(i, e))));
        for (int drawn = 0; drawn < 4; ++drawn) {
            const auto to = draw.next(-9, 3);
            const auto pattern = std::string("fully connected with fp16 ") + f.name;
            const auto y = results_of(quantize(all_float16().then(f.name).cast(type::float32), to).finished(), x.data(),
                    expected.size(), pattern.c_str());
            for (std::size_t at = 0; at < y.size(); ++at)
                ASSERT_EQ(to.of_bits(y[at]), to.of(expected[at]))
                        << pattern << " of integer " << at / (exponents + 1) << ", exponent " << at % (exponents + 1);
        }
    }
}

} // namespace
} // namespace dynquant::models

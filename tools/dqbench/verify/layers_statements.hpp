// Statements of layers: what a cell's table says of a layer, from which its inputs are drawn.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <string>
#include <vector>

#include "group.hpp"
#include "layers/layer/layer.hpp"
#include "parameters.hpp"

namespace dqbench::verify {

/// How many zero points of weights, or elements of a bias; each: one for each channel.
enum class amount { none, one, each };
constexpr const char *name_of(amount a) {
    return a == amount::none ? "none" : a == amount::one ? "one" : "each";
}

/// Bytes. ends: the ends of the types and their neighbours. greatest: those of the greatest products, all of one sign,
/// whose long sums wrap.
enum class filling { any, ends, greatest };
constexpr const char *name_of(filling f) {
    return f == filling::any ? "any" : f == filling::ends ? "ends" : "greatest";
}

/// Floats. any: of [-4, 4). ties: halves and powers of two, whose results are often ties. wild: any, with NaN,
/// infinities, zeros, subnormal and huge ones among them.
enum class reals { any, ties, wild };
constexpr const char *name_of(reals r) {
    return r == reals::any ? "any" : r == reals::ties ? "ties" : "wild";
}

/// Numbers that depend on a text alone.
class drawing {
  public:
    explicit drawing(const std::string &text) {
        for (const auto c : text)
            seed_ = mix(seed_ ^ static_cast<unsigned char>(c));
    }
    std::int64_t number(std::int64_t least, std::int64_t most) {
        return least + static_cast<std::int64_t>(next() % static_cast<std::uint64_t>(most - least + 1));
    }
    bool coin() { return number(0, 1) == 1; }
    template <typename T, std::size_t count>
    T one_of(const T (&values)[count]) {
        return values[number(0, std::int64_t {count} - 1)];
    }

    std::byte byte(filling how) {
        constexpr int ends[] = {0x00, 0x01, 0x7f, 0x80, 0x81, 0xfe, 0xff};
        return static_cast<std::byte>(how == filling::any ? number(0, 255) : one_of(ends));
    }
    float real(reals how) {
        constexpr auto most = std::numeric_limits<float>::max(), infinity = std::numeric_limits<float>::infinity();
        constexpr float wild[] = {0, -0.0F, infinity, -infinity, std::numeric_limits<float>::quiet_NaN(), most, -most,
                0x1p-149F, -0x1.8p-130F, 0x1p-126F, 16777216, -2147483648.0F};
        if (how == reals::ties) return static_cast<float>(number(-64, 64)) / 2;
        if (how == reals::wild && number(0, 3) == 0) return one_of(wild);
        return static_cast<float>(number(-(1 << 23), (1 << 23) - 1)) / (1 << 21);
    }
    /// A factor of sums, of many magnitudes.
    float factor(reals how) {
        const auto power = static_cast<float>(std::uint64_t {1} << number(0, 24));
        if (how == reals::ties) return 1 / power;
        return how == reals::wild && number(0, 2) == 0 ? real(how) : real(reals::any) / power;
    }
    template <typename F>
    auto many(std::int64_t count, F f) {
        std::vector<decltype(f())> values(static_cast<std::size_t>(count));
        std::ranges::generate(values, f);
        return values;
    }

  private:
    std::uint64_t next() { return mix(seed_ + ++count_); }

    std::uint64_t seed_ = 0, count_ = 0;
};

/// A chain of steps. Their parameters are drawn.
struct chain {
    const char *name;
    std::vector<dynquant::layers::post_op_kind> steps;
    dynquant::layers::result_type result = dynquant::layers::result_type::f32;
    bool is_signed = false;                                                            // of bytes
    bool has_table = false;                                                            // on the bytes
    enum class normalization { none, layer, rms } normalization = normalization::none; // of products
};

/// The sums alone.
extern const chain sums;
/// The first ten end in floats, the first four begin with no step or `multiply`.
const std::vector<chain> &chains();

/// A layer whose inputs are to be drawn.
struct plan {
    dynquant::layers::layer_description d;
    dynquant::dims x;
    amount w_zero_points = amount::none, bias = amount::none;
    bool knows_x_zero_point = false; // before the run
    bool has_x_scale = false;        // the first step becomes `scale`
    filling bytes = filling::any;
    reals floats = reals::any;
    const chain *steps = &sums;
};

std::string line_of(const plan &p);
statement statement_of(const plan &p);

/// For a layer that quantizes x: by the native kernel.
dynquant::layers::prepare_function prepare_by(dynquant::targets::features available);

/// A product by narrow weights whose inputs are to be drawn.
struct weight_only_plan {
    dynquant::data_type type;
    std::int64_t rows, inner, columns; // rows: of a convolution positions, of each of two images
    std::int64_t block = 1;
    bool is_by_column = false, has_zero_points = false, is_transposed = false, is_convolution = false;
    bool quantizes_x = false;
    reals floats = reals::any;
    const chain *steps = nullptr;
};

statement statement_of(const weight_only_plan &p);

/// A table of bytes, src and dst being one or two.
statement look_up_statement(std::int64_t count, std::int64_t offset, bool in_place);

} // namespace dqbench::verify

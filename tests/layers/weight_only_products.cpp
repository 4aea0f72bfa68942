// Products by narrow weights are what weight_only_product.hpp defines, bit for bit, by each instruction set that this
// processor has, and as far from the exact sums as it says.
#include <algorithm>
#include <array>
#include <bit>
#include <cmath>
#include <cstdint>
#include <limits>
#include <optional>
#include <ostream>
#include <vector>

#include <gtest/gtest.h>

#include "layers/gemm/weight_only/weight_only_product.hpp"
#include "oracle/layers.hpp"
#include "parallel/executor.hpp"
#include "support/random.hpp"
#include "support/tested_sets.hpp"

namespace dynquant::layers {
namespace {

namespace oracle = test::oracle;

using tested_features = test::tested<targets::features>;

std::vector<tested_features> runnable_features() {
    std::vector<tested_features> result;
    for (const auto &[name, needs] : targets::instruction_sets)
        for (const auto &kind : test::runnable(weight_only_table))
            if (name == kind.name) result.push_back({name, needs});
    return result;
}

const std::vector<data_type> integer_types {data_type::s8, data_type::u8, data_type::s4, data_type::u4},
        float_types {data_type::f8_e4m3, data_type::f8_e5m2},
        all_types {data_type::s8, data_type::u8, data_type::s4, data_type::u4, data_type::f8_e4m3, data_type::f8_e5m2};

bool is_float8(data_type type) {
    return type == data_type::f8_e4m3 || type == data_type::f8_e5m2;
}

std::int64_t codes_of(data_type type) {
    return std::int64_t {1} << test::bits_in(type);
}

constexpr float untouched = 77;

/// A product, with its weights' codes as they follow each other in memory.
struct sample {
    data_type type = data_type::s8;
    std::int64_t rows = 0, inner = 0, columns = 0, block = 1, scale_columns = 1, column_group = 1;
    bool is_transposed = false, is_float16 = false;
    std::vector<std::uint8_t> codes;
    std::vector<float> scales, x; // rows of x are x_stride() apart, with NaN between them
    std::vector<std::int32_t> zero_points;

    std::int64_t x_stride() const { return inner + 2; }
    std::int64_t y_stride() const { return columns + 3; }
    std::int64_t blocks() const { return inner / block + (inner % block != 0 ? 1 : 0); }
    float x_at(std::int64_t m, std::int64_t k) const { return x[static_cast<std::size_t>(m * x_stride() + k)]; }

    /// As a model has them.
    std::vector<std::byte> packed() const {
        std::vector<std::byte> result(test::bytes_for(type, inner * columns));
        for (std::int64_t i = 0; i < inner * columns; ++i)
            test::set_bits(type, result.data(), i, codes[static_cast<std::size_t>(i)]);
        return result;
    }
    weight_only_weights weights(const std::vector<std::byte> &data) const {
        return {type, inner, columns, data.data(), is_transposed, block, scales, zero_points, scale_columns, is_float16,
                column_group};
    }

    std::vector<float> expected() const {
        const auto data = packed();
        const auto of = weights(data);
        const auto w = oracle::weight_only_factors(of, data);
        std::vector<float> y(static_cast<std::size_t>(rows * y_stride()), untouched);
        for (std::int64_t m = 0; m < rows; ++m)
            for (std::int64_t n = 0; n < columns; ++n)
                y[static_cast<std::size_t>(m * y_stride() + n)] =
                        oracle::narrow_sum(of, x.data() + m * x_stride(), 1, w.data() + n * inner, n);
        return y;
    }
};

/// With scales for each column.
sample of_extents(data_type type, std::int64_t rows, std::int64_t inner, std::int64_t columns, std::int64_t block) {
    sample s;
    s.type = type;
    s.rows = rows;
    s.inner = inner;
    s.columns = s.scale_columns = columns;
    s.block = block;
    return s;
}

std::vector<float> run(const weight_only_product &product, const sample &s, weight_only_workspace &memory,
        const std::byte *data = nullptr) {
    std::vector<float> y(static_cast<std::size_t>(s.rows * s.y_stride()), untouched);
    product.run({s.x.data(), s.rows, s.x_stride()}, y.data(), s.y_stride(), memory, data);
    return y;
}

weight_only_product product_of(const sample &s, targets::features available) {
    const auto data = s.packed();
    return {s.weights(data), available};
}

std::ostream &operator<<(std::ostream &to, const sample &s) {
    return to << to_string(s.type) << ", " << s.rows << " x " << s.inner << " x " << s.columns << ", block " << s.block
              << ", " << s.scale_columns << " scale columns, groups of " << s.column_group << ", "
              << s.zero_points.size() << " zero points" << (s.is_transposed ? ", transposed" : "")
              << (s.is_float16 ? ", float16" : "");
}

/// The first difference.
void expect_equal(const sample &s, const std::vector<float> &y, const std::vector<float> &expected) {
    for (std::size_t i = 0; i < y.size(); ++i) {
        const auto given = y[i], wanted = expected[i];
        if (std::isnan(wanted) ? !std::isnan(given)
                               : std::bit_cast<std::uint32_t>(given) != std::bit_cast<std::uint32_t>(wanted)) {
            ADD_FAILURE() << s << ": row " << static_cast<std::int64_t>(i) / s.y_stride() << ", column "
                          << static_cast<std::int64_t>(i) % s.y_stride() << ": " << given << " in place of " << wanted;
            return;
        }
    }
}

class drawing {
  public:
    std::int64_t number(std::int64_t least, std::int64_t most) { return random_.within(least, most); }
    /// Of many magnitudes.
    float real() { return random_.exponent_within(-8, 3); }

    /// Fills what the extents of a sample leave open.
    sample &fill(sample &s, bool has_zero_points) {
        s.is_transposed = number(0, 1) == 1;
        for (std::int64_t i = 0; i < s.inner * s.columns; ++i) {
            const auto code = static_cast<std::uint8_t>(number(0, codes_of(s.type) - 1));
            const bool is_finite = !is_float8(s.type) || std::isfinite(test::real_from(s.type, code));
            s.codes.push_back(is_finite ? code : 0);
        }
        for (std::int64_t i = 0; i < s.blocks() * s.scale_columns; ++i) {
            s.scales.push_back(s.is_float16 ? test::nearest_float16(std::ldexp(real(), -7)) : real());
            if (has_zero_points)
                s.zero_points.push_back(static_cast<std::int32_t>(
                        test::integer_from(s.type, static_cast<std::uint32_t>(number(0, codes_of(s.type) - 1)))));
        }
        for (std::int64_t m = 0; m < s.rows; ++m) {
            for (std::int64_t k = 0; k < s.inner; ++k)
                s.x.push_back(real());
            s.x.insert(s.x.end(), 2, std::nanf(""));
        }
        return s;
    }

    sample integers(std::int64_t rows, std::int64_t inner, std::int64_t columns) {
        return of_one_of(integer_types, rows, inner, columns);
    }
    sample floats(std::int64_t rows, std::int64_t inner, std::int64_t columns) {
        return of_one_of(float_types, rows, inner, columns);
    }

  private:
    sample of_one_of(const std::vector<data_type> &types, std::int64_t rows, std::int64_t inner, std::int64_t columns) {
        auto s = of_extents(random_.one_of(types), rows, inner, columns, 1);
        s.block = random_.one_of<std::int64_t>(
                {1, 2, 3, 5, 16, 32, inner / 2 + 1, std::max<std::int64_t>(inner, 1), inner + 7});
        s.scale_columns = number(0, 2) == 0 ? 1 : columns;
        return fill(s, !is_float8(s.type) && number(0, 1) == 1);
    }

    test::random_source random_ {20};
};

/// Of eight threads, for parts of little work.
const parallel::executor small_parts = {[] { return 8; }, parallel::tbb_executor.run, 16};

class weight_only_products : public testing::TestWithParam<tested_features> {
  protected:
    weight_only_product product(const sample &s) const { return product_of(s, GetParam().code); }

    /// On one thread and on several; of drawn types where extents are given.
    void expect_both_defined(const sample &s) {
        const auto of = product(s);
        EXPECT_EQ(of.inner(), s.inner);
        EXPECT_EQ(of.columns(), s.columns);
        const auto expected = s.expected();
        expect_equal(s, run(of, s, memory_), expected);
        const auto data = s.packed();
        const auto given = s.weights(data);
        const bool are_given = s.rows <= max_given_x_rows && can_multiply_given(given);
        std::optional<weight_only_product> as_they_lie;
        if (are_given) as_they_lie.emplace(given, GetParam().code, weight_storage::given);
        if (are_given) expect_equal(s, run(*as_they_lie, s, memory_, data.data()), expected);
        const parallel::scoped_executor executor(small_parts);
        expect_equal(s, run(of, s, memory_), expected);
        if (are_given) expect_equal(s, run(*as_they_lie, s, memory_, data.data()), expected);
    }

    void expect_both_defined(std::int64_t rows, std::int64_t inner, std::int64_t columns) {
        expect_both_defined(draw_.integers(rows, inner, columns));
        expect_both_defined(draw_.floats(rows, inner, columns));
    }

    drawing draw_;
    weight_only_workspace memory_;
};

TEST_P(weight_only_products, of_each_number_of_rows) {
    for (std::int64_t rows = 1; rows <= 40; ++rows)
        expect_both_defined(rows, 37, 70);
    for (const std::int64_t rows : {95, 132, 133, 265}) // up to 132 are computed at once
        for (const std::int64_t columns : {5, 100})
            expect_both_defined(rows, 20, columns);
}

TEST_P(weight_only_products, of_each_number_of_columns) {
    for (std::int64_t columns = 1; columns <= 140; ++columns)
        for (const std::int64_t rows : {1, 4, 6, 26})
            expect_both_defined(rows, 19, columns);
}

TEST_P(weight_only_products, of_random_extents) {
    for (int i = 0; i < 400; ++i) {
        const auto rows = draw_.number(0, 3) == 0 ? draw_.number(9, 20) : draw_.number(1, 9);
        expect_both_defined(draw_.integers(rows, draw_.number(1, 70), draw_.number(1, 70)));
        if (i % 4 == 0) expect_both_defined(draw_.floats(rows, draw_.number(1, 70), draw_.number(1, 70)));
    }
}

/// Sums of more than a buffer of widened weights go on in the next one, whether a buffer has many blocks, some, or a
/// part of one.
TEST_P(weight_only_products, of_long_sums) {
    for (const std::int64_t block : {1, 7, 32, 128, 129, 301, 1400})
        for (const auto type : all_types)
            for (const std::int64_t rows : {1, 3, 6, 9, 26}) {
                const auto inner = 1103 + draw_.number(0, 1);
                auto s = of_extents(type, rows, inner, draw_.number(3, 67), block);
                expect_both_defined(draw_.fill(s, !is_float8(type) && draw_.number(0, 1) == 1));
            }
}

/// How often weights are widened depends on their type and on the number of rows.
TEST_P(weight_only_products, of_each_type_by_many_rows) {
    for (const auto type : all_types)
        for (const bool has_zero_points : {false, true})
            for (const std::int64_t block : {1, 5, 20, 41})
                for (const std::int64_t rows : {12, 13, 24, 25, 96}) {
                    if (is_float8(type) && has_zero_points) continue;
                    auto s = of_extents(type, rows, 41, draw_.number(1, 80), block);
                    s.scale_columns = draw_.number(0, 1) == 0 ? 1 : s.columns;
                    expect_both_defined(draw_.fill(s, has_zero_points));
                }
}

/// Many rows by many panels in short blocks are multiplied by floats, in tiles of 6 rows but the last ones. Few panels
/// of the same weights, and long blocks, are not.
TEST_P(weight_only_products, of_many_rows_by_many_columns) {
    const auto columns_of_panel = targets::pick(GetParam().code, weight_only_table)->columns;
    const auto columns = [&] { return min_many_panels * columns_of_panel + draw_.number(-3, 20); };
    for (std::int64_t rows = min_many_rows - 1; rows <= min_many_rows + 6; ++rows)
        expect_both_defined(rows, 37, columns());
    for (const auto rows : {max_weight_only_rows - 1, max_weight_only_rows, max_weight_only_rows + 1})
        expect_both_defined(rows, 17, columns());
    for (const auto type : all_types)
        for (const std::int64_t block : {1, 7, 32, 33, 64, 65}) {
            auto s = of_extents(type, min_many_rows + draw_.number(0, 5), 300 + draw_.number(0, 3), columns(), block);
            s.scale_columns = draw_.number(0, 1) == 0 ? 1 : s.columns;
            s.is_float16 = draw_.number(0, 3) == 0;
            expect_both_defined(draw_.fill(s, !is_float8(type) && draw_.number(0, 1) == 1));
        }
}

/// What has scales of float16 is rounded to it, weight by weight, also where a buffer begins within a block.
TEST_P(weight_only_products, of_float16_weights) {
    for (const auto type : all_types)
        for (const std::int64_t block : {1, 5, 32, 301, 1400})
            for (const std::int64_t inner : {20, 33, 601})
                for (const std::int64_t rows : {1, 3, 7, 26}) {
                    auto s = of_extents(type, rows, inner, draw_.number(1, 70), block);
                    s.is_float16 = true;
                    s.scale_columns = draw_.number(0, 1) == 0 ? 1 : s.columns;
                    expect_both_defined(draw_.fill(s, !is_float8(type) && draw_.number(0, 1) == 1));
                }
}

/// Groups of columns share scales, for each row or for blocks of rows.
TEST_P(weight_only_products, of_groups_of_columns) {
    for (const auto type : all_types)
        for (const std::int64_t group : {2, 5, 32, 48, 64, 128, 200})
            for (const std::int64_t block : {1, 3, 32, 600})
                for (const std::int64_t rows : {1, 2, 3, 6, 9, 26, 100}) {
                    const auto inner = draw_.number(0, 1) == 0 ? draw_.number(1, 40) : draw_.number(500, 600);
                    auto s = of_extents(type, rows, inner, draw_.number(group, 2 * group + 70), block);
                    s.column_group = group;
                    s.scale_columns = (s.columns + group - 1) / group;
                    expect_both_defined(draw_.fill(s, !is_float8(type) && draw_.number(0, 2) != 0));
                }
}

/// 2 and -1 by the scales 3 and 4 of the first two columns, 5 and 6 of the third: 6 and -4 by the codes less their
/// zero points 1 and 2, 10 and -6 by those less 0 and 7.
TEST_P(weight_only_products, of_groups_of_columns_by_hand) {
    for (const auto type : {data_type::u8, data_type::u4}) {
        auto s = of_extents(type, 1, 2, 3, 1);
        s.column_group = s.scale_columns = 2;
        s.codes = {1, 5, 2, 3, 0, 9};
        s.scales = {3, 5, 4, 6};
        s.zero_points = {1, 0, 2, 7};
        s.x = {2, -1, 0, 0};
        EXPECT_EQ(run(product(s), s, memory_),
                (std::vector<float> {-4 * 1, 6 * 4 + 4 * 2, 10 * 2 - 6 * 2, untouched, untouched, untouched}));
    }
}

/// A NaN among the codes of f8_e4m3 is of its column alone, not of the group.
TEST_P(weight_only_products, keep_columns_of_a_group_apart) {
    auto s = of_extents(data_type::f8_e4m3, 1, 2, 6, 1);
    s.column_group = 3;
    s.scale_columns = 2;
    s.codes.assign(12, 0x38); // 1
    s.codes[7] = 0x7f;
    s.scales = {1, 2, 3, 4};
    s.x = {1, 1, 0, 0};
    expect_both_defined(s);
    EXPECT_TRUE(std::isnan(run(product(s), s, memory_)[1]));
}

/// Scales are those of groups, whatever the panels are.
TEST_P(weight_only_products, of_groups_of_columns_take_the_bytes_of_their_codes) {
    auto s = of_extents(data_type::u4, 1, 64, 256, 1);
    s.column_group = 128;
    s.scale_columns = 2;
    draw_.fill(s, true);
    // The codes; scales of x; zero points and one more; a panel of ones.
    const auto panel = targets::pick(GetParam().code, weight_only_table)->columns;
    EXPECT_EQ(product(s).bytes(), 64U * 256 / 2 + 64 * 2 * 4 + 64 * 2 + 1 + 4 * static_cast<std::size_t>(panel));
}

/// As images have them, channels first.
TEST_P(weight_only_products, of_rows_whose_elements_lie_apart) {
    for (const std::int64_t rows : {1, 2, 7, 49, 95, 133, 230})
        for (int i = 0; i < 3; ++i) {
            const auto s = draw_.integers(rows, draw_.number(1, 150), i == 0 ? 300 : draw_.number(1, 70));
            const auto step = rows + draw_.number(0, 2);
            std::vector<float> turned(static_cast<std::size_t>(s.inner * step), std::nanf(""));
            for (std::int64_t m = 0; m < rows; ++m)
                for (std::int64_t k = 0; k < s.inner; ++k)
                    turned[static_cast<std::size_t>(k * step + m)] = s.x_at(m, k);
            const auto of = product(s);
            for (const bool are_several : {false, true}) {
                std::optional<parallel::scoped_executor> executor;
                if (are_several) executor.emplace(small_parts);
                std::vector<float> y(static_cast<std::size_t>(rows * s.y_stride()), untouched);
                of.run({turned.data(), rows, 1, step}, y.data(), s.y_stride(), memory_);
                expect_equal(s, y, s.expected());
            }
        }
}

TEST_P(weight_only_products, of_the_longest_sums_of_the_scalar_loop) {
    for (const auto type : {data_type::s8, data_type::u4}) {
        auto s = of_extents(type, 1, 9001, 9, 9001);
        expect_both_defined(draw_.fill(s, true));
    }
}

/// All codes by all zero points of a type: the differences of bytes have 9 bits, those of 4 bits have 5.
TEST_P(weight_only_products, of_all_codes_and_zero_points) {
    for (const auto type : integer_types) {
        const auto codes = codes_of(type);
        auto s = of_extents(type, 1, 1, codes * codes, 1);
        for (std::int64_t i = 0; i < s.columns; ++i) {
            s.codes.push_back(static_cast<std::uint8_t>(i % codes));
            s.zero_points.push_back(
                    static_cast<std::int32_t>(test::integer_from(type, static_cast<std::uint32_t>(i / codes))));
        }
        s.scales.assign(s.zero_points.size(), 0.5F);
        s.x = {3, 0, 0};
        expect_both_defined(s);
    }
}

TEST_P(weight_only_products, of_all_codes_of_floats) {
    for (const auto type : float_types)
        for (const std::int64_t rows : {1, 9}) {
            auto s = of_extents(type, rows, 1, 256, 1);
            s.scale_columns = 1;
            for (int i = 0; i < 256; ++i)
                s.codes.push_back(static_cast<std::uint8_t>(i));
            s.scales = {1};
            for (std::int64_t i = 0; i < rows; ++i)
                s.x.insert(s.x.end(), {1, 0, 0});
            const auto y = run(product(s), s, memory_);
            for (int i = 0; i < 256; ++i) {
                const bool is_e5m2 = type == data_type::f8_e5m2;
                if (is_e5m2 && (i & 0x7f) == 0x7c)
                    EXPECT_EQ(y[static_cast<std::size_t>(i)], i < 128 ? INFINITY : -INFINITY);
                else if (is_e5m2 ? (i & 0x7f) > 0x7c : (i & 0x7f) == 0x7f)
                    EXPECT_TRUE(std::isnan(y[static_cast<std::size_t>(i)])) << i;
                else
                    EXPECT_EQ(y[static_cast<std::size_t>(i)], test::real_from(type, static_cast<std::uint32_t>(i)))
                            << i;
            }
        }
}

/// 3 * 2 * -0 is -0.
TEST_P(weight_only_products, keep_the_sign_of_a_scale_of_zero) {
    for (const std::int64_t scale_columns : {1, 5}) {
        auto s = of_extents(data_type::s8, 1, 1, 5, 1);
        s.scale_columns = scale_columns;
        s.codes.assign(5, 2);
        s.scales.assign(static_cast<std::size_t>(scale_columns), -0.0F);
        s.x = {3, 0, 0};
        EXPECT_TRUE(std::signbit(run(product(s), s, memory_)[4]));
        expect_both_defined(s);
    }
}

TEST_P(weight_only_products, of_nothing) {
    for (const auto [rows, inner, columns] :
            {std::array<std::int64_t, 3> {0, 3, 4}, {3, 0, 4}, {3, 4, 0}, {0, 0, 0}, {1, 0, 70}, {20, 0, 5}})
        for (const auto type : {data_type::s8, data_type::u8, data_type::u4, data_type::f8_e5m2})
            for (const std::int64_t block : {1, 2, 32}) {
                auto s = of_extents(type, rows, inner, columns, block);
                expect_both_defined(draw_.fill(s, type == data_type::u8));
            }
}

/// ONNX allows blocks that are longer than all rows, up to the largest number of a file.
TEST_P(weight_only_products, of_blocks_longer_than_all_rows) {
    constexpr auto most = std::numeric_limits<std::int64_t>::max();
    for (const std::int64_t inner : {1, 2, 70})
        for (const auto block : {most, most - inner + 1, most - inner, most / 2 + 1})
            for (const auto type : {data_type::s8, data_type::u8, data_type::s4, data_type::u4, data_type::f8_e4m3})
                for (const std::int64_t scale_columns : {1, 40}) {
                    auto s = of_extents(type, 3, inner, 40, block);
                    s.scale_columns = scale_columns;
                    expect_both_defined(draw_.fill(s, !is_float8(type)));
                }
}

/// A row does not matter for the others: one of infinities and NaN gives NaN alone.
TEST_P(weight_only_products, keeps_rows_apart) {
    for (const std::int64_t rows : {2, 5, 12}) {
        auto s = draw_.integers(rows, 30, 40);
        for (std::int64_t k = 0; k < s.inner; ++k)
            s.x[static_cast<std::size_t>(s.x_stride() + k)] = k % 2 == 0 ? INFINITY : std::nanf("");
        expect_both_defined(s);
    }
}

/// uint8 weights around 128 are stored as their differences, which takes no zero points.
TEST_P(weight_only_products, take_the_bytes_of_their_codes) {
    auto s = of_extents(data_type::u8, 2, 256, 128, 256);
    for (std::int64_t i = 0; i < s.inner * s.columns; ++i)
        s.codes.push_back(static_cast<std::uint8_t>(i * 7));
    s.scales.assign(128, 0.25F);
    s.zero_points.assign(128, 128);
    s.x.assign(2 * 258, 1.5F);
    EXPECT_EQ(product(s).bytes(), 256U * 128U + 4U * 128U);
    expect_both_defined(s);
    s.codes[5] = 255;
    s.zero_points[5] = 127; // the difference is no s8
    EXPECT_EQ(product(s).bytes(), 256U * 128U + 4U * 128U + 128U);
    expect_both_defined(s);
    s.type = data_type::s4;
    for (auto &code : s.codes)
        code %= 16;
    s.zero_points.clear();
    EXPECT_EQ(product(s).bytes(), 256U * 128U / 2U + 4U * 128U + 128U);
    expect_both_defined(s);
}

/// long double has 64 bits: its sum of K exact products is within gamma(K) of 2^-64.
TEST_P(weight_only_products, are_within_the_bound_of_the_exact_sum) {
    static_assert(std::numeric_limits<long double>::digits >= 64);
    for (int i = 0; i < 200; ++i) {
        auto s = i % 4 == 0 ? draw_.floats(3, draw_.number(1, 400), 17) : draw_.integers(3, draw_.number(1, 400), 17);
        if (i % 3 == 0 && s.scale_columns == 17) { // those of the first columns become those of groups
            s.column_group = 5;
            s.scale_columns = 4;
        }
        const auto y = run(product(s), s, memory_);
        const auto data = s.packed();
        const auto of = s.weights(data);
        const auto w = oracle::weight_only_factors(of, data);
        const auto gamma = [](long double count, long double unit) { return count * unit / (1 - count * unit); };
        const auto roundings = oracle::is_x_scaled(of) ? s.inner + 2
                : oracle::are_scaled(of)               ? s.inner
                                                       : std::min(s.block, s.inner) + s.blocks() + 1;
        for (std::int64_t m = 0; m < s.rows; ++m)
            for (std::int64_t n = 0; n < s.columns; ++n) {
                long double sum = 0, magnitudes = 0;
                for (std::int64_t k = 0; k < s.inner; ++k) {
                    const float scale = oracle::are_scaled(of) ? 1 : s.scales[oracle::scale_of(of, k, n)];
                    const float weight = w[static_cast<std::size_t>(n * s.inner + k)] * scale;
                    const auto term = static_cast<long double>(s.x_at(m, k)) * weight;
                    sum += term;
                    magnitudes += std::fabs(term);
                }
                const auto bound = gamma(static_cast<long double>(roundings), 0x1p-24L)
                        + gamma(static_cast<long double>(s.inner), 0x1p-63L);
                const auto given = y[static_cast<std::size_t>(m * s.y_stride() + n)];
                ASSERT_LE(std::fabs(given - sum), bound * magnitudes) << s << ": row " << m << ", column " << n;
            }
    }
}

INSTANTIATE_TEST_SUITE_P(
        of, weight_only_products, testing::ValuesIn(runnable_features()), [](const auto &of) { return of.param.name; });

} // namespace
} // namespace dynquant::layers

// Products of x that is quantized in blocks are what block_product.hpp defines, bit for bit, by each instruction set
// that this processor has or emulates.
#include <algorithm>
#include <bit>
#include <cmath>
#include <cstdint>
#include <cstring>
#include <limits>
#include <ostream>
#include <vector>

#include <gtest/gtest.h>

#include "emulated.hpp"
#include "layers/gemm/weight_only/weight_only_product.hpp"
#include "oracle/layers.hpp"
#include "parallel/executor.hpp"
#include "support/guarded_buffer.hpp"
#include "support/random.hpp"
#include "support/sampling.hpp"
#include "support/tested_sets.hpp"

namespace dynquant::layers {
namespace {

namespace oracle = test::oracle;

using tested_loop = test::tested<const block_loop *>;

std::vector<tested_loop> runnable_loops() {
    auto result = test::runnable(block_table);
    const auto processor = targets::of_processor();
    if (targets::has(processor, targets::avx2)) result.push_back({"emulated_avx2_vnni", &emulated_avx2_vnni_block});
    if (targets::has(processor, targets::avx512))
        result.push_back({"emulated_avx512_vnni", &emulated_avx512_vnni_block});
    if (targets::has(processor, targets::avx512_vnni))
        result.push_back({"emulated_amx_int8", &emulated_amx_int8_block});
    if (targets::has(processor, targets::amx_int8) && !targets::request_amx())
        std::erase_if(result, [](const auto &each) { return each.name == "amx_int8"; });
    return result;
}

constexpr float untouched = 77;

struct sample {
    data_type type = data_type::u4;
    std::int64_t rows = 0, inner = 0, columns = 0, block = 32;
    bool is_transposed = false;
    std::vector<std::int32_t> q, zero_points; // q: [inner, columns]; zero_points: [blocks, columns], or none
    std::vector<float> scales, x;             // rows of x are x_stride() apart, with NaN between them

    std::int64_t x_stride() const { return inner + 2; }
    std::int64_t y_stride() const { return columns + 3; }
    std::int64_t blocks() const { return (inner + block - 1) / block; }

    weight_only_weights weights(std::vector<std::byte> &data) const {
        data = std::vector<std::byte>(test::bytes_for(type, inner * columns));
        for (std::int64_t k = 0; k < inner; ++k)
            for (std::int64_t n = 0; n < columns; ++n)
                test::set_bits(type, data.data(), is_transposed ? n * inner + k : k * columns + n,
                        static_cast<std::uint32_t>(q[static_cast<std::size_t>(k * columns + n)]));
        weight_only_weights w = {type, inner, columns, data.data(), is_transposed, block, scales, zero_points, columns};
        w.quantizes_x = true;
        return w;
    }

    std::vector<float> expected() const {
        std::vector<std::byte> data;
        const auto of = weights(data);
        const auto w = oracle::weight_only_factors(of, data);
        std::vector<float> y(static_cast<std::size_t>(rows * y_stride()), untouched);
        for (std::int64_t m = 0; m < rows; ++m)
            for (std::int64_t n = 0; n < columns; ++n)
                y[static_cast<std::size_t>(m * y_stride() + n)] =
                        oracle::block_sum(of, x.data() + m * x_stride(), 1, w.data() + n * inner, n);
        return y;
    }
};

std::ostream &operator<<(std::ostream &to, const sample &s) {
    return to << to_string(s.type) << ", " << s.rows << " x " << s.inner << " x " << s.columns << ", block " << s.block
              << ", " << s.zero_points.size() << " zero points" << (s.is_transposed ? ", transposed" : "");
}

const std::vector<data_type> types {data_type::s8, data_type::u8, data_type::s4, data_type::u4};

class drawing {
  public:
    std::int64_t number(std::int64_t least, std::int64_t most) { return random_.within(least, most); }

    /// zero_points: 0 none, 1 one value for all, 2 of each column and block.
    sample of(data_type type, std::int64_t rows, std::int64_t inner, std::int64_t columns, std::int64_t block,
            std::int64_t zero_points) {
        sample s;
        s.type = type;
        s.rows = rows;
        s.inner = inner;
        s.columns = columns;
        s.block = block;
        s.is_transposed = number(0, 1) == 1;
        const bool is_signed = type == data_type::s8 || type == data_type::s4;
        const auto count = std::int64_t {1} << test::bits_in(type), least = is_signed ? -count / 2 : 0;
        const bool is_extreme = number(0, 3) == 0; // the largest sums
        const auto code = [&] {
            const auto drawn = is_extreme ? number(0, 1) * (count - 1) : number(0, count - 1);
            return static_cast<std::int32_t>(least + drawn);
        };
        for (std::int64_t i = 0; i < inner * columns; ++i)
            s.q.push_back(code());
        const auto of_all = code();
        const bool has_float16 = number(0, 2) == 0;
        for (std::int64_t i = 0; i < s.blocks() * columns; ++i) {
            const auto scale = random_.exponent_within(-8, 3);
            s.scales.push_back(has_float16 ? test::nearest_float16(scale) : scale);
            if (zero_points != 0) s.zero_points.push_back(zero_points == 1 ? of_all : code());
        }
        const auto largest = random_.exponent_within(-3, 3);
        for (std::int64_t m = 0; m < rows; ++m) {
            for (std::int64_t k = 0; k < inner; ++k)
                s.x.push_back(is_extreme ? (number(0, 1) == 0 ? largest : -largest) : random_.exponent_within(-8, 3));
            s.x.insert(s.x.end(), 2, std::nanf(""));
        }
        return s;
    }
    sample any(std::int64_t rows, std::int64_t inner, std::int64_t columns) {
        return of(random_.one_of(types), rows, inner, columns, random_.one_of<std::int64_t>({16, 32, 64, 128, 256}),
                number(0, 2));
    }

  private:
    test::random_source random_ {61};
};

/// Of eight threads, for parts of little work.
const parallel::executor small_parts = {[] { return 8; }, parallel::tbb_executor.run, 16};

class block_products : public testing::TestWithParam<tested_loop> {
  protected:
    std::vector<float> run(const sample &s) {
        std::vector<std::byte> data;
        auto weights = s.weights(data);
        test::guarded_buffer guarded(data.size(), test::guarded_buffer::place::at_back);
        guarded.fill(data);
        weights.data = guarded.data();
        const block_product product(weights, *GetParam().code);
        std::vector<float> y(static_cast<std::size_t>(s.rows * s.y_stride()), untouched);
        product.run({s.x.data(), s.rows, s.x_stride()}, y.data(), s.y_stride(), memory_);
        return y;
    }

    void expect_equal(const sample &s, const std::vector<float> &expected) {
        const auto y = run(s);
        for (std::size_t i = 0; i < y.size(); ++i) {
            const auto given = y[i], wanted = expected[i];
            if (std::isnan(wanted) ? !std::isnan(given)
                                   : std::bit_cast<std::uint32_t>(given) != std::bit_cast<std::uint32_t>(wanted)) {
                ADD_FAILURE() << s << ": row " << static_cast<std::int64_t>(i) / s.y_stride() << ", column "
                              << static_cast<std::int64_t>(i) % s.y_stride() << ": " << given << " in place of "
                              << wanted;
                return;
            }
        }
    }

    /// On one thread and on several.
    void expect_defined(const sample &s) {
        const auto expected = s.expected();
        expect_equal(s, expected);
        const parallel::scoped_executor executor(small_parts);
        expect_equal(s, expected);
    }

    drawing draw_;
    aligned_vector<std::byte> memory_;
};

/// x is 1 and -2, then 0.5 in a block of its own: scales 2 / 127 and 0.5 / 127, codes 64 (63.5 goes to the even
/// neighbour), -127 and 127. By 3 - 1 and 5 - 1, then 7 - 2, with the scales 127 and 254: 64 * 2 - 127 * 4 = -380,
/// times 2, and 127 * 5 = 635, times 1.
TEST_P(block_products, by_hand) {
    sample s;
    s.rows = 1;
    s.inner = 17;
    s.columns = 1;
    s.block = 16;
    s.q.assign(17, 9);
    s.q[0] = 3;
    s.q[1] = 5;
    s.q[16] = 7;
    s.zero_points = {1, 2};
    s.scales = {127, 254};
    s.x.assign(19, 0);
    s.x[0] = 1;
    s.x[1] = -2;
    s.x[16] = 0.5F;
    for (const bool is_transposed : {false, true}) {
        s.is_transposed = is_transposed;
        EXPECT_EQ(run(s)[0], -380 * (127 * (2 / 127.0F)) + 635 * (254 * (0.5F / 127)));
        EXPECT_EQ(run(s)[1], untouched);
    }
}

TEST_P(block_products, of_each_number_of_rows) {
    for (std::int64_t rows = 0; rows <= 30; ++rows)
        expect_defined(draw_.any(rows, draw_.number(30, 70), 70));
    for (const std::int64_t rows : {95, 96, 97, 200})
        expect_defined(draw_.any(rows, 70, draw_.number(1, 100)));
}

TEST_P(block_products, of_each_number_of_columns) {
    for (std::int64_t columns = 1; columns <= 140; ++columns)
        for (const std::int64_t rows : {1, 2, 7})
            expect_defined(draw_.any(rows, 40, columns));
}

TEST_P(block_products, of_each_type_block_and_inner) {
    test::case_sampler sampler;
    for (const auto type : types)
        for (const std::int64_t block : {16, 32, 64, 128, 256})
            for (std::int64_t zero_points = 0; zero_points < 3; ++zero_points)
                for (const std::int64_t inner : {std::int64_t {1}, std::int64_t {15}, block - 1, block, block + 1,
                             3 * block, draw_.number(300, 700), std::int64_t {1536}})
                    for (const std::int64_t rows : {1, 5})
                        if (sampler.takes())
                            expect_defined(draw_.of(type, rows, inner, draw_.number(1, 70), block, zero_points));
}

/// No weights give zeros, and no columns nothing.
TEST_P(block_products, of_no_rows_of_weights) {
    sample s;
    s.rows = 2;
    s.columns = 3;
    s.x.assign(4, 1);
    EXPECT_EQ(run(s),
            (std::vector<float> {0, 0, 0, untouched, untouched, untouched, 0, 0, 0, untouched, untouched, untouched}));
}

/// An infinity or NaN is of the rows that have it, tiny and huge x are by the formula, and so are scales that are no
/// numbers.
TEST_P(block_products, of_special_values) {
    const auto highest = std::numeric_limits<float>::max(), infinite = std::numeric_limits<float>::infinity(),
               tiny = std::numeric_limits<float>::denorm_min(), small = 3.0e-37F;
    for (const auto value : {infinite, -infinite, std::nanf(""), highest, -highest, tiny, -tiny, small, 0.0F, -0.0F})
        for (const bool is_alone : {false, true})
            for (const std::int64_t rows : {1, 3}) {
                auto s = draw_.any(rows, 70, 40);
                if (is_alone) std::fill(s.x.begin(), s.x.begin() + s.inner, 0.0F);
                s.x[static_cast<std::size_t>(draw_.number(0, s.inner - 1))] = value;
                expect_defined(s);
            }
    for (const auto value : {infinite, std::nanf(""), highest, tiny, 0.0F, -1.0F}) {
        auto s = draw_.any(3, 70, 40);
        s.scales[5] = value;
        expect_defined(s);
    }
}

INSTANTIATE_TEST_SUITE_P(
        sets, block_products, testing::ValuesIn(runnable_loops()), [](const auto &set) { return set.param.name; });

#if defined(__x86_64__)
/// Of each 32 rows, from 5 on, a product of tiles has up to 16 rows, 16 columns and 64 rows of weights, or a block.
/// Another library's configuration of this thread outlives them.
TEST(emulated_amx_int8_block, multiplies_many_rows_by_tiles) {
    if (!targets::has(targets::of_processor(), targets::avx512)) GTEST_SKIP() << "the processor has no AVX-512";
    const parallel::executor one_thread = {[] { return 1; }, parallel::tbb_executor.run, 16};
    const parallel::scoped_executor executor(one_thread);
    const test::emulated_tile_configuration given = {1, 0, {}, {64, 32}, {16, 7}};
    test::load_emulated_configuration(given);
    drawing draw;
    aligned_vector<std::byte> memory;
    const auto products = [&](std::int64_t rows, std::int64_t inner, std::int64_t columns, std::int64_t block) {
        std::vector<std::byte> data;
        const auto s = draw.of(data_type::u4, rows, inner, columns, block, 2);
        const block_product product(s.weights(data), emulated_amx_int8_block);
        std::vector<float> y(static_cast<std::size_t>(s.rows * s.y_stride()));
        const auto before = test::emulated_state().products;
        product.run({s.x.data(), s.rows, s.x_stride()}, y.data(), s.y_stride(), memory);
        return test::emulated_state().products - before;
    };
    EXPECT_EQ(products(1, 128, 64, 32), 0);
    EXPECT_EQ(products(4, 128, 64, 32), 0);
    EXPECT_EQ(products(5, 128, 64, 32), 4 * 4);      // columns, blocks
    EXPECT_EQ(products(36, 128, 64, 32), 2 * 4 * 4); // rows, columns, blocks; 4 rows are left
    EXPECT_EQ(products(37, 128, 64, 32), 3 * 4 * 4);
    EXPECT_EQ(products(64, 128, 64, 64), 4 * 4 * 2);
    EXPECT_EQ(products(64, 257, 128, 256), 4 * 8 * 2 * 4);
    EXPECT_EQ(products(16, 1, 33, 16), 4); // halves of a panel
    const auto left = test::emulated_state();
    EXPECT_EQ(std::memcmp(&left.configuration, &given, sizeof given), 0);
    EXPECT_EQ(left.faults, 0);
    test::load_emulated_configuration({});
}
#endif

TEST(block_product, knows_integers_in_blocks_of_a_power_of_two) {
    std::vector<std::byte> data;
    drawing draw;
    const auto s = draw.of(data_type::u4, 1, 64, 5, 32, 0);
    const auto known = [&](auto change) {
        auto w = s.weights(data);
        change(w);
        return have_blocks(w);
    };
    EXPECT_TRUE(known([](auto &) {}));
    for (const std::int64_t block : {1, 8, 48, 512})
        EXPECT_FALSE(known([=](auto &w) { w.block = block; })) << block;
    for (const auto type : {data_type::f8_e4m3, data_type::f8_e5m2})
        EXPECT_FALSE(known([=](auto &w) { w.type = type; })) << to_string(type);
    EXPECT_FALSE(known([](auto &w) { w.scale_columns = 1; }));
    EXPECT_FALSE(known([](auto &w) { w.column_group = 2; }));
    EXPECT_FALSE(known([](auto &w) { w.are_float16 = true; }));
}

/// Weights take their bytes, each scale four, or two where all are float16, and zero points one each where they differ.
TEST(block_product, takes_the_bytes_of_its_weights) {
    std::vector<std::byte> data;
    drawing draw;
    const auto bytes = [&](data_type type, std::int64_t zero_points, float scale) {
        auto s = draw.of(type, 1, 256, 256, 32, zero_points);
        std::ranges::fill(s.scales, 0.5F);
        s.scales.back() = scale;
        return block_product(s.weights(data), targets::of_processor()).bytes();
    };
    const auto not_float16 = 1 + std::ldexp(1.0F, -11);
    EXPECT_EQ(bytes(data_type::u4, 1, not_float16), 256U * 256 / 2 + 8 * 256 * 4);
    EXPECT_EQ(bytes(data_type::s8, 0, not_float16), 256U * 256 + 8 * 256 * 4);
    EXPECT_EQ(bytes(data_type::u4, 2, not_float16), 256U * 256 / 2 + 8 * 256 * 5);
    EXPECT_EQ(bytes(data_type::u4, 1, 0.25F), 256U * 256 / 2 + 8 * 256 * 2);
}

} // namespace
} // namespace dynquant::layers

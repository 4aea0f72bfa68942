// Products of few rows by weights that are read where they lie: the sums of the definition, and no byte read behind the
// weights.
#include "layers/gemm/unpacked/unpacked_product.hpp"

#include <gtest/gtest.h>

#include "quantization/environment.hpp"
#include "support/guarded_buffer.hpp"
#include "support/random.hpp"

namespace dynquant::layers {
namespace {

/// The value of a byte.
std::int64_t value_of(std::byte byte, bool is_signed) {
    return is_signed ? std::to_integer<std::int8_t>(byte) : std::to_integer<std::int64_t>(byte);
}

struct shape {
    std::int64_t rows, inner, columns;
};

void expect_sums(test::random_source &random, const shape &s, bool is_transposed, bool is_signed) {
    const auto x = random.bytes(s.rows * s.inner), w = random.bytes(s.inner * s.columns);
    test::guarded_buffer weights(w.size(), test::guarded_buffer::place::at_back);
    weights.fill(w);
    const std::int32_t x_zero_point = 3;
    const constant_weights of = is_transposed ? constant_weights {weights.data(), s.inner, 1, 0}
                                              : constant_weights::of_matrix(weights.data(), s.columns);
    const unpacked_operands o {x.data(), !is_signed, s.rows, s.inner, s.columns, {&x_zero_point, 1}, of, is_signed, {}};
    ASSERT_TRUE(can_multiply_unpacked(o));
    for (const auto available : {targets::features {targets::scalar}, environment::usable_features()}) {
        std::vector<std::int32_t> y(static_cast<std::size_t>(s.rows * s.columns), 77);
        aligned_vector<std::int16_t> words;
        multiply_unpacked(o, available, words, y.data());
        for (std::int64_t r = 0; r < s.rows; ++r)
            for (std::int64_t n = 0; n < s.columns; ++n) {
                std::int64_t sum = 0;
                for (std::int64_t k = 0; k < s.inner; ++k) {
                    const auto at = is_transposed ? n * s.inner + k : k * s.columns + n;
                    sum += (value_of(x[static_cast<std::size_t>(r * s.inner + k)], !is_signed) - x_zero_point)
                            * value_of(w[static_cast<std::size_t>(at)], is_signed);
                }
                ASSERT_EQ(y[static_cast<std::size_t>(r * s.columns + n)], sum)
                        << s.rows << " x " << s.inner << " x " << s.columns << ", at " << r << ", " << n;
            }
    }
}

TEST(unpacked_products, are_the_sums_of_the_definition) {
    test::random_source random(3);
    for (std::int64_t rows = 1; rows <= most_unpacked_rows; ++rows)
        for (const std::int64_t inner : {0, 1, 2, 7, 8, 9, 15, 33})
            for (const std::int64_t columns : {1, 15, 16, 32, 33, 64, 67, 128})
                for (const bool is_transposed : {false, true})
                    for (const bool is_signed : {false, true})
                        ASSERT_NO_FATAL_FAILURE(expect_sums(random, {rows, inner, columns}, is_transposed, is_signed));
}

} // namespace
} // namespace dynquant::layers

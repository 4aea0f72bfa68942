// Permutations of dimensions agree with their definition.
#include "layers/layer/permute.hpp"

#include <algorithm>
#include <numeric>

#include <gtest/gtest.h>

#include "quantization/shape.hpp"

namespace dynquant::layers {
namespace {

using order = std::vector<std::size_t>;

/// The index in x of y's element `at`.
std::int64_t source(const dims &shape, const order &of, std::int64_t at) {
    std::vector<std::int64_t> position(shape.size());
    for (auto d = shape.size(); d-- > 0; at /= shape[of[d]])
        position[of[d]] = at % shape[of[d]];
    std::int64_t offset = 0;
    for (std::size_t d = 0; d < shape.size(); ++d)
        offset = offset * shape[d] + position[d];
    return offset;
}

template <typename Element>
void expect_permuted(const dims &shape, const order &of) {
    const auto count = static_cast<std::size_t>(*volume(shape));
    std::vector<Element> x(count), y(count + 1, Element {77});
    for (std::size_t i = 0; i < count; ++i)
        x[i] = static_cast<Element>(i * 167 + i / 256);
    permutation(shape, of, sizeof(Element)).run(x.data(), y.data());
    for (std::size_t i = 0; i < count; ++i)
        ASSERT_EQ(y[i], x[static_cast<std::size_t>(source(shape, of, static_cast<std::int64_t>(i)))])
                << testing::PrintToString(shape) << " by " << testing::PrintToString(of) << " at " << i;
    EXPECT_EQ(y[count], Element {77});
}

TEST(permutation, is_every_order_of_every_shape) {
    for (const dims &shape : {dims {}, {5}, {8, 8}, {17, 9}, {3, 20, 11}, {2, 9, 8, 10}, {1, 16, 1, 24},
                 {2, 1, 3, 8, 16}, {2, 3, 4, 32}, {2, 3, 300}}) {
        order of(shape.size());
        std::iota(of.begin(), of.end(), 0);
        do {
            expect_permuted<std::uint8_t>(shape, of);
            expect_permuted<std::uint16_t>(shape, of);
            expect_permuted<std::uint32_t>(shape, of);
        } while (std::ranges::next_permutation(of).found);
    }
}

TEST(permutation, of_large_tensors_on_several_threads) {
    expect_permuted<std::uint8_t>({3, 65, 1500}, {0, 2, 1});
    expect_permuted<std::uint8_t>({1500, 3, 65}, {1, 2, 0});
    expect_permuted<std::uint32_t>({3, 65, 1500}, {2, 0, 1});
}

TEST(permutation, of_nothing) {
    permutation({4, 0, 3}, {2, 1, 0}, 1).run(nullptr, nullptr);
    constexpr std::int64_t huge = std::int64_t {1} << 40; // the product of two does not fit in 63 bits
    order of {0, 1, 2};
    do
        permutation({0, huge, huge}, of, 1).run(nullptr, nullptr);
    while (std::ranges::next_permutation(of).found);
}

TEST(permutation, brings_channels_to_the_end) {
    const dims shape {2, 3, 4, 5};
    std::vector<std::uint8_t> x(120), last(120);
    std::iota(x.begin(), x.end(), std::uint8_t {0});
    to_channels_last(shape, 1).run(x.data(), last.data());
    EXPECT_EQ(last[1], 20); // the second channel
    EXPECT_EQ(last[3], 1);  // the second column
}

} // namespace
} // namespace dynquant::layers

// Packed weights that are equal lie in memory once, as long as anybody has them.
#include <algorithm>
#include <cstddef>
#include <memory>
#include <thread>
#include <utility>
#include <vector>

#include <gtest/gtest.h>

#include "layers/gemm/packed_product.hpp"
#include "layers/gemm/shared_weights.hpp"
#include "quantization/environment.hpp"

namespace dynquant::layers {
namespace {

using bytes = std::vector<std::byte>;

constexpr auto least = shared_weights::min_size;

bytes numbered(std::size_t size, std::size_t first = 0) {
    bytes result(size);
    for (std::size_t i = 0; i < size; ++i)
        result[i] = static_cast<std::byte>((first + i) * 37 % 251);
    return result;
}

class shared_weights_of_a_process : public testing::Test {
  protected:
    shared_weights::memory share(bytes content, std::size_t size) {
        const auto owner = std::make_shared<bytes>(std::move(content));
        newest_ = owner;
        return shared_weights::share(registry_, {owner, owner->data()}, size);
    }
    shared_weights::memory share(const bytes &content) { return share(content, content.size()); }

    std::shared_ptr<shared_weights> registry_ = std::make_shared<shared_weights>();
    std::weak_ptr<bytes> newest_; // that was given
};

TEST_F(shared_weights_of_a_process, equal_ones_are_one) {
    const auto content = numbered(3 * least + 5);
    const auto first = share(content), second = share(content);
    EXPECT_TRUE(newest_.expired()); // the memory of the second
    EXPECT_EQ(first, second);
    EXPECT_TRUE(std::equal(content.begin(), content.end(), first.get()));
    EXPECT_EQ(registry_->count(), 1U);
}

TEST_F(shared_weights_of_a_process, each_byte_counts) {
    auto content = numbered(2 * least + 5);
    const auto first = share(content);
    std::vector<shared_weights::memory> others;
    for (std::size_t i = 0; i < content.size(); ++i) {
        content[i] ^= std::byte {1};
        const auto other = share(content);
        ASSERT_NE(other, first) << i;
        ASSERT_TRUE(std::equal(content.begin(), content.end(), other.get())) << i;
        content[i] ^= std::byte {1};
        if (i % 1000 == 0) others.push_back(other);
    }
    EXPECT_EQ(registry_->count(), 1 + others.size());
    EXPECT_EQ(share(content), first);
}

TEST_F(shared_weights_of_a_process, finds_each_of_those_whose_samples_are_equal) {
    std::vector<shared_weights::memory> each;
    std::vector<bytes> contents;
    for (int i = 0; i < 5; ++i) {
        contents.push_back(numbered(4 * least));
        contents.back().back() = static_cast<std::byte>(i);
        each.push_back(share(contents.back()));
    }
    for (std::size_t i = 0; i < each.size(); ++i) {
        EXPECT_EQ(share(contents[i]), each[i]) << i;
        EXPECT_EQ(std::ranges::count(each, each[i]), 1) << i;
    }
}

TEST_F(shared_weights_of_a_process, the_beginning_of_others_is_another_one) {
    const auto content = numbered(2 * least);
    const auto whole = share(content), part = share(content, 2 * least - 1);
    EXPECT_NE(whole, part);
    EXPECT_EQ(registry_->count(), 2U);
}

TEST_F(shared_weights_of_a_process, few_bytes_stay_as_they_are) {
    const auto content = numbered(least - 1);
    EXPECT_NE(share(content), share(content));
    EXPECT_EQ(registry_->count(), 0U);
}

TEST_F(shared_weights_of_a_process, live_as_long_as_an_owner) {
    const auto content = numbered(least);
    auto first = share(content);
    const auto memory = newest_;
    auto second = share(content);
    first.reset();
    EXPECT_FALSE(memory.expired());
    EXPECT_EQ(share(content), second);
    second.reset();
    EXPECT_TRUE(memory.expired());
    EXPECT_EQ(registry_->count(), 0U);
    const auto third = share(content);
    EXPECT_FALSE(newest_.expired());
    EXPECT_EQ(registry_->count(), 1U);
}

TEST_F(shared_weights_of_a_process, outlive_what_finds_them) {
    const auto content = numbered(least);
    auto one = share(content);
    const auto memory = newest_;
    registry_.reset();
    EXPECT_TRUE(std::equal(content.begin(), content.end(), one.get()));
    one.reset();
    EXPECT_TRUE(memory.expired());
}

TEST_F(shared_weights_of_a_process, of_threads_that_begin_at_once_are_one) {
    constexpr std::size_t threads = 8, rounds = 200, kinds = 3;
    for (std::size_t round = 0; round < rounds; ++round) {
        std::vector<shared_weights::memory> all(threads * kinds);
        std::vector<std::thread> running;
        for (std::size_t t = 0; t < threads; ++t)
            running.emplace_back([&, t] {
                for (std::size_t i = 0; i < kinds; ++i) {
                    const auto kind = (t + i) % kinds;
                    const auto owner = std::make_shared<bytes>(numbered(least + 7, kind));
                    all[t * kinds + kind] = shared_weights::share(registry_, {owner, owner->data()}, owner->size());
                }
            });
        for (auto &t : running)
            t.join();
        ASSERT_EQ(registry_->count(), kinds);
        for (std::size_t i = 0; i < all.size(); ++i)
            ASSERT_EQ(all[i], all[i % kinds]);
        for (std::size_t kind = 0; kind < kinds; ++kind) {
            const auto content = numbered(least + 7, kind);
            ASSERT_TRUE(std::equal(content.begin(), content.end(), all[kind].get()));
        }
    }
    EXPECT_EQ(registry_->count(), 0U);
}

TEST_F(shared_weights_of_a_process, of_threads_come_and_go) {
    std::vector<std::thread> running;
    std::vector<int> wrong(8);
    for (std::size_t t = 0; t < wrong.size(); ++t)
        running.emplace_back([&, t] {
            for (std::size_t i = 0; i < 1000; ++i) {
                const auto content = numbered(least, i % 2);
                const auto owner = std::make_shared<bytes>(content);
                const auto one = shared_weights::share(registry_, {owner, owner->data()}, least);
                wrong[t] += !std::equal(content.begin(), content.end(), one.get());
            }
        });
    for (auto &t : running)
        t.join();
    EXPECT_EQ(wrong, std::vector<int>(8));
    EXPECT_EQ(registry_->count(), 0U);
}

/// All weights are 1, and so are their bytes in any layout.
TEST(packed_product, shares_bytes_of_weights_with_another_meaning) {
    constexpr std::int64_t inner = 64, columns = 256;
    const bytes ones(inner * columns, std::byte {1}), x(inner, std::byte {255});
    const auto weights = constant_weights::of_matrix(ones.data(), columns);
    const auto available = environment::usable_features();
    const packed_product of_u8({false, inner, 1, columns}, weights, available),
            of_s8({true, inner, 1, columns}, weights, available),
            with_zero_points({false, inner, 1, columns, 1, {3}}, weights, available);
    const auto *const line = x.data();
    const auto expect = [&](const packed_product &product, std::int32_t sum, std::int32_t weight_sum) {
        std::int32_t row_sum = 0;
        product.sum_rows({&line, inner, 1}, {0, 1}, &row_sum);
        std::vector<std::int32_t> y(columns);
        product.run({&line, inner, 1, &row_sum}, {0, product.panels()}, y.data(), columns);
        EXPECT_EQ(y, std::vector<std::int32_t>(columns, sum));
        EXPECT_EQ(product.weight_sums(), std::vector<std::int32_t>(columns, weight_sum));
    };
    expect(of_u8, 64 * 255, 64);
    expect(of_s8, -64, 64);
    expect(with_zero_points, 64 * 255 * -2, -128);
}

} // namespace
} // namespace dynquant::layers

// Floats of 16 bits as f32 and back, on every instruction set, against integer arithmetic.
#include <bit>
#include <cmath>
#include <limits>

#include <gtest/gtest.h>

#include "layers/narrow_floats/narrow_floats.hpp"
#include "oracle/elements.hpp"
#include "support/tested_sets.hpp"

namespace dynquant::layers {
namespace {

constexpr data_type types[] = {data_type::f16, data_type::bf16};

std::vector<std::byte> all_codes() {
    std::vector<std::byte> result(std::size_t {2} << 16);
    for (std::uint32_t code = 0; code < 1U << 16; ++code)
        test::set_bits(data_type::f16, result.data(), code, code);
    return result;
}

bool are_same(float a, float b) {
    return std::isnan(a) ? std::isnan(b) : std::bit_cast<std::uint32_t>(a) == std::bit_cast<std::uint32_t>(b);
}

TEST(narrow_floats, each_becomes_its_value) {
    const auto codes = all_codes();
    for (const auto &set : test::runnable(narrow_floats_table))
        for (const auto type : types) {
            std::vector<float> given(1 << 16);
            const auto widen = type == data_type::f16 ? set.code->widen_f16 : set.code->widen_bf16;
            widen(codes.data(), std::ssize(given), given.data());
            for (std::uint32_t code = 0; code < 1U << 16; ++code)
                ASSERT_TRUE(are_same(given[code], test::real_from(type, code))) << set.name << ", code " << code;
        }
}

/// For each code this gives its value, the neighbours of that, and what lies between it and the next code.
TEST(narrow_floats, are_rounded_to_nearest_even) {
    for (const auto type : types) {
        std::vector<float> values;
        for (std::uint32_t code = 0; code < 1U << 16; ++code) {
            const auto value = test::real_from(type, code), next = test::real_from(type, (code + 1) & 0xffff);
            const auto tie = value / 2 + next / 2;
            for (const auto v : {value, tie})
                values.insert(values.end(), {v, std::nextafter(v, INFINITY), std::nextafter(v, -INFINITY)});
        }
        values.insert(values.end(),
                {std::numeric_limits<float>::max(), -std::numeric_limits<float>::max(), 65519.996F, 65520,
                        std::numeric_limits<float>::denorm_min()});
        for (const auto &set : test::runnable(narrow_floats_table)) {
            std::vector<std::byte> given(2 * values.size());
            (type == data_type::f16 ? set.code->narrow_f16 : set.code->narrow_bf16)(
                    values.data(), std::ssize(values), given.data());
            for (std::size_t i = 0; i < values.size(); ++i) {
                const auto code = test::get_bits(type, given.data(), static_cast<std::int64_t>(i));
                if (std::isnan(values[i]))
                    ASSERT_TRUE(std::isnan(test::real_from(type, code))) << set.name;
                else
                    ASSERT_EQ(code, test::bits_of_real(type, values[i])) << set.name << ", " << values[i];
            }
        }
    }
}

TEST(narrow_floats, of_any_number_leave_what_is_behind) {
    for (const auto &set : test::runnable(narrow_floats_table))
        for (std::size_t count = 0; count < 70; ++count) {
            std::vector<float> values(count + 1, 1.5F), widened(count + 1, 7);
            std::vector<std::byte> codes(2 * (count + 1), std::byte {0x5a});
            set.code->narrow_f16(values.data(), static_cast<std::int64_t>(count), codes.data());
            set.code->widen_f16(codes.data(), static_cast<std::int64_t>(count), widened.data());
            for (std::size_t i = 0; i <= count; ++i) {
                ASSERT_EQ(test::get_bits(data_type::f16, codes.data(), static_cast<std::int64_t>(i)),
                        i < count ? 0x3e00U : 0x5a5aU)
                        << set.name << ", " << i << " of " << count;
                ASSERT_EQ(widened[i], i < count ? 1.5F : 7) << set.name << ", " << i << " of " << count;
            }
        }
}

TEST(narrow_floats, pass_several_threads) {
    const auto codes = all_codes();
    std::vector<std::byte> many;
    for (int i = 0; i < 16; ++i)
        many.insert(many.end(), codes.begin(), codes.begin() + 2 * 0x7c00); // no NaN
    const auto count = std::ssize(many) / 2;
    std::vector<float> widened(many.size() / 2);
    std::vector<std::byte> back(many.size());
    for (const auto type : types) {
        const auto all = targets::of_processor();
        widen_floats(type, many.data(), count, widened.data(), all);
        narrow_floats(type, widened.data(), count, back.data(), all);
        EXPECT_EQ(back, many);
    }
}

} // namespace
} // namespace dynquant::layers

// Nothing is read or written beyond the buffers, wherever they lie.
#include <gtest/gtest.h>

#include "support/random.hpp"

namespace dynquant::test {
namespace {

struct bounds_case {
    direction dir;
    data_type integer;
    bool alongside; // a parameter for each element
};

class bounds : public testing::TestWithParam<bounds_case> {
  protected:
    static sample of_size(std::int64_t size) {
        const auto [dir, integer, alongside] = GetParam();
        const bool quantizing = dir == direction::quantize;
        quantization q;
        q.dir = dir;
        q.src = {quantizing ? data_type::f32 : integer, {size}, {}};
        q.dst = {quantizing ? integer : data_type::f32, {size}, {}};
        q.scales = {data_type::f32, {alongside ? 1 : size}, {}};
        q.zero_points = {data_type::s8, q.scales.block, {}};
        random_source random(static_cast<std::uint64_t>(size));
        return random_sample(random, q, parameters::fast);
    }
    static placement misaligned(guarded_buffer::place where, std::size_t real, std::size_t integer) {
        const bool quantizing = GetParam().dir == direction::quantize;
        return {where, quantizing ? real : integer, quantizing ? integer : real};
    }
};

TEST_P(bounds, hold_for_every_size_and_alignment) {
    for (std::int64_t size = 1; size <= 200; ++size) {
        const auto s = of_size(size);
        std::vector<operation> operations;
        for (const auto &v : variants_for(s))
            operations.push_back(prepare(s.q, v.forced()));
        for (std::size_t shift = 0; shift < 64; ++shift) {
            const auto where = shift % 2 == 0 ? guarded_buffer::place::at_front : guarded_buffer::place::at_back;
            const auto reals = (shift + static_cast<std::size_t>(size)) % 16 * sizeof(float);
            guarded_sample guarded(s, misaligned(where, reals, shift));
            for (const auto &op : operations)
                ASSERT_TRUE(guarded.computed_right_by(op)) << op.info().isa << ", shift " << shift;
        }
    }
}

TEST_P(bounds, hold_next_to_pages_without_access) {
    for (std::int64_t size = 1; size <= 200; ++size)
        ASSERT_TRUE(computed_right(of_size(size), universal_variants()));
    for (const std::int64_t size : {511, 512, 513, 4095, 4096, 4097, 65537, 131071})
        ASSERT_TRUE(computed_right(of_size(size), universal_variants()));
}

INSTANTIATE_TEST_SUITE_P(cases, bounds,
        testing::Values(bounds_case {direction::quantize, data_type::u8, false},
                bounds_case {direction::quantize, data_type::s8, true},
                bounds_case {direction::dequantize, data_type::u8, true},
                bounds_case {direction::dequantize, data_type::s8, false}),
        [](const auto &value) {
            return std::string(to_string(value.param.dir)) + "_" + to_string(value.param.integer)
                    + (value.param.alongside ? "_parameters_alongside" : "_parameter_shared");
        });

} // namespace
} // namespace dynquant::test

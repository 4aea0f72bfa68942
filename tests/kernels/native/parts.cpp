// Which tensors with computed scales the native kernel gives to several threads.
#include <gtest/gtest.h>

#include "kernels/native/implementation.hpp"
#include "parallel/executor.hpp"
#include "quantization/environment.hpp"
#include "quantization/shape.hpp"
#include "support/direct.hpp"

namespace dynquant::kernels::native {
namespace {

int parts_of_run = 0;

/// The number of parts that a run of zeros has, where there are eight threads.
int parts_of(const quantization &q) {
    static const parallel::executor counting {[] { return 8; },
            [](int parts, void (*function)(const void *body, int index), const void *body) {
                parts_of_run = parts;
                parallel::run_here(parts, function, body);
            },
            1};
    const parallel::scoped_executor executor(counting);
    const auto bytes = [](const tensor &t) { return std::vector<std::byte>(test::bytes_spanned(t)); };
    const auto of_blocks = [&](data_type type) {
        return bytes({type, parameter_dims(q.src.dims, q.scales.block), {}});
    };
    const auto src = bytes(q.src);
    auto dst = bytes(q.dst), scales = of_blocks(q.scales.type), zero_points = of_blocks(q.dst.type);
    arguments args;
    args.src = src.data();
    args.dst = dst.data();
    args.computed_scales = scales.data();
    args.computed_zero_points = q.zero_points ? zero_points.data() : nullptr;
    const settings s {environment::usable_features(), 0};
    parts_of_run = 1;
    implement_computed(q, s, loops_for(s.available))->run(args);
    return parts_of_run;
}

/// Of four blocks, each a box.
quantization of_long_rows(data_type dst, std::int64_t row, bool zero_points) {
    auto q = test::statement_of(direction::quantize, data_type::f32, dst, {4, row}, {1, row});
    q.rule = numerics::onnx;
    q.computed = scale_rule {};
    if (zero_points) {
        q.computed->range = scale_range::minmax;
        q.zero_points = {dst, q.scales.block, {}};
    }
    return q;
}

TEST(parts, of_boxes_that_share_bytes_are_one) {
    constexpr std::int64_t row = 1 << 15; // 128 KiB
    EXPECT_EQ(parts_of(of_long_rows(data_type::u8, row, true)), 4);
    EXPECT_EQ(parts_of(of_long_rows(data_type::s4, row, false)), 4);
    EXPECT_EQ(parts_of(of_long_rows(data_type::u4, row, true)), 1);      // a byte has the zero points of two rows
    EXPECT_EQ(parts_of(of_long_rows(data_type::s4, row + 1, false)), 1); // or the end of a row and the next one's begin
}

} // namespace
} // namespace dynquant::kernels::native

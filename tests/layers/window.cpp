// Windows of convolutions and of pooling: how many there are.
#include "layers/conv/window.hpp"

#include <gtest/gtest.h>

namespace dynquant::layers {
namespace {

std::int64_t positions(std::int64_t x, std::int64_t kernel, std::int64_t stride, std::int64_t pad_begin,
        std::int64_t pad_end, bool ceil) {
    window_attributes given;
    given.strides = {stride};
    given.pads = {pad_begin, pad_end};
    given.ceil = ceil;
    return make_window(given, {x}, {kernel}).y.front();
}

TEST(windows, by_ceil_end_behind_the_padding) {
    EXPECT_EQ(positions(5, 2, 2, 0, 0, false), 2); // at 0 and 2
    EXPECT_EQ(positions(5, 2, 2, 0, 0, true), 3);  // at 4, too
    EXPECT_EQ(positions(6, 2, 2, 0, 0, true), 3);  // which all fit
    EXPECT_EQ(positions(6, 2, 3, 1, 0, true), 3);  // at -1, 2 and 5, the last of x
}

TEST(windows, by_ceil_do_not_begin_in_the_end_padding) {
    EXPECT_EQ(positions(4, 2, 2, 0, 1, true), 2); // a third would begin at 4, behind x
    EXPECT_EQ(positions(5, 2, 3, 1, 1, true), 2); // at -1 and 2; a third would begin at 5
    EXPECT_EQ(positions(3, 3, 2, 2, 2, true), 3); // at -2, 0 and 2, which all fit
}

} // namespace
} // namespace dynquant::layers

// Random chains around a Convolution, in both data formats and both of weights, give what exact integers and f32 give,
// bit for bit, on each instruction set.
#include "random_convolution.hpp"

namespace dynquant::test {
namespace {

TEST(random_convolutions, are_computed_exactly) {
    run_chains<random_convolution>();
}

} // namespace
} // namespace dynquant::test

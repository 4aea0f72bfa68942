// Random chains around a MatMul give what exact integers and f32 give, bit for bit, on each instruction set. Some stand
// between other ops.
#include "random_product.hpp"

namespace dynquant::test {
namespace {

TEST(random_chains, are_computed_exactly) {
    run_chains<random_product>();
}

} // namespace
} // namespace dynquant::test

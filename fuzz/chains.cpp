// Chains of oneDNN Graph's ops that dynquant computes as one layer, between other ops: partitions, compilation and runs
// by three instruction sets give what exact integers and f32 give.
#include "graph_layers/random_convolution.hpp"
#include "graph_layers/random_narrow_chain.hpp"
#include "graph_layers/random_product.hpp"
#include "target.hpp"

extern "C" int LLVMFuzzerInitialize(int *, char ***) {
    GTEST_FLAG_SET(throw_on_failure, true); // an exception that nothing catches
    return 0;
}

int LLVMFuzzerTestOneInput(const std::uint8_t *data, std::size_t size) {
    using namespace dynquant::test;
    if (size == 0) return -1;
    const number_source n(std::span(data + 1, size - 1));
    switch (data[0] % 3) {
        case 0: run_chain(random_product(n)); break;
        case 1: run_chain(random_convolution(n)); break;
        default: run_narrow_chain(random_narrow_chain(n));
    }
    return 0;
}

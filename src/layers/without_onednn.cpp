// Stubs of layers/onednn for builds without oneDNN.
#include "layers/onednn/onednn.hpp"

namespace dynquant::layers {

bool int8_is_exact() {
    return false;
}

std::unique_ptr<const product_slice> make_onednn_slice(const product_slice::problem &, const std::int8_t *) {
    return nullptr;
}

std::unique_ptr<const integer_sums> make_direct_convolution(const integer_convolution &, const std::int8_t *) {
    return nullptr;
}

} // namespace dynquant::layers

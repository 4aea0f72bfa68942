// Apart from integer_convolution.cpp, so that a library that packs convolutions is not linked with oneDNN.
#include "layers/onednn/onednn.hpp"

namespace dynquant::layers {

std::unique_ptr<const integer_sums> make_convolution(const integer_convolution &p, const std::int8_t *w) {
    auto result = make_direct_convolution(p, w);
    return result ? std::move(result) : pack_convolution(p, w)(p);
}

} // namespace dynquant::layers

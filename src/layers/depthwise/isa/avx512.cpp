#include "layers/depthwise/isa/pairs_avx2.hpp"

namespace dynquant::layers {

constinit const depthwise_function avx512_depthwise = depthwise_by_pairs;

} // namespace dynquant::layers

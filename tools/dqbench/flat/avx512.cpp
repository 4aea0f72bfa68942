#include "targets/avx512.hpp"

#include "flat/loop.hpp"

namespace dqbench::flat {

constinit const function avx512_flat = copy<dynquant::simd::avx512>;

} // namespace dqbench::flat

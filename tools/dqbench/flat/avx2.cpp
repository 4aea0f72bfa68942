#include "targets/avx2.hpp"

#include "flat/loop.hpp"

namespace dqbench::flat {

constinit const function avx2_flat = copy<dynquant::simd::avx2>;

} // namespace dqbench::flat

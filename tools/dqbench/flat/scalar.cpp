#include "targets/scalar.hpp"

#include "flat/loop.hpp"

namespace dqbench::flat {

constinit const function scalar_flat = copy<dynquant::simd::scalar>;

} // namespace dqbench::flat

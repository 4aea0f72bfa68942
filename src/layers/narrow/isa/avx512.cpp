#include "targets/avx512.hpp"

#include "layers/narrow/isa/multiply_narrow.hpp"

namespace dynquant::layers {

constinit const narrow_kind avx512_narrow = narrow_kind_of<simd::avx512>();

} // namespace dynquant::layers

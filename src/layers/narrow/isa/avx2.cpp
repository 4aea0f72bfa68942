#include "targets/avx2.hpp"

#include "layers/narrow/isa/multiply_narrow.hpp"

namespace dynquant::layers {

constinit const narrow_kind avx2_narrow = narrow_kind_of<simd::avx2>();

} // namespace dynquant::layers

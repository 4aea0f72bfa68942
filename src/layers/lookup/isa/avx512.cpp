#include "targets/avx512.hpp"

#include "layers/lookup/isa/by_shuffles.hpp"
#include "layers/lookup/isa/look_up_by.hpp"

namespace dynquant::lookup {

constinit const look_up_function avx512_look_up = look_up_by<by_shuffles<simd::avx512>>;

} // namespace dynquant::lookup

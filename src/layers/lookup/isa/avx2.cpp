#include "targets/avx2.hpp"

#include "layers/lookup/isa/by_shuffles.hpp"
#include "layers/lookup/isa/look_up_by.hpp"

namespace dynquant::lookup {

constinit const look_up_function avx2_look_up = look_up_by<by_shuffles<simd::avx2>>;

} // namespace dynquant::lookup

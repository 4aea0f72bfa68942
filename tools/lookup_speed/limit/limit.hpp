// The limit of a table lookup: the same loop, which stores what it loads.
#pragma once

#include "layers/lookup/lookup.hpp"

namespace lookup_speed {

extern const dynquant::lookup::look_up_function scalar_copy;
#if defined(__x86_64__)
extern const dynquant::lookup::look_up_function avx2_copy, avx512_copy;
#endif

} // namespace lookup_speed

#include "targets/avx512.hpp"

#include "vector_copy.hpp"

namespace lookup_speed {

constinit const dynquant::lookup::look_up_function avx512_copy =
        dynquant::lookup::look_up_by<vector_copy<dynquant::simd::avx512>>;

} // namespace lookup_speed

#include "targets/avx2.hpp"

#include "vector_copy.hpp"

namespace lookup_speed {

constinit const dynquant::lookup::look_up_function avx2_copy =
        dynquant::lookup::look_up_by<vector_copy<dynquant::simd::avx2>>;

} // namespace lookup_speed

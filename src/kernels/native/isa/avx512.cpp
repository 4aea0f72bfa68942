#include "targets/avx512.hpp"

#include "kernels/native/table.hpp"

namespace dynquant::kernels::native {

constinit const instruction_set avx512_set = table_of<simd::avx512>();

} // namespace dynquant::kernels::native

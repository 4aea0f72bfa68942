#include "targets/avx2.hpp"

#include "kernels/native/table.hpp"

namespace dynquant::kernels::native {

constinit const instruction_set avx2_set = table_of<simd::avx2>();

} // namespace dynquant::kernels::native

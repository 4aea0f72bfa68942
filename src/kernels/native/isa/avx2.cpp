#include "kernels/native/isa/avx2.hpp"
#include "kernels/native/rows.hpp"

namespace dynquant::kernels::native {

constinit const row_functions avx2_rows = rows_for<avx2>(avx2_dequantize_converted);

} // namespace dynquant::kernels::native

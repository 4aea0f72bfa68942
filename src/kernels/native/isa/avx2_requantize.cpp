#include "kernels/native/isa/avx2.hpp"
#include "kernels/native/requantizer.hpp"

namespace dynquant::kernels::native {

constinit const requantize_row_functions avx2_requantize_rows = requantize_rows_for<avx2>();

} // namespace dynquant::kernels::native

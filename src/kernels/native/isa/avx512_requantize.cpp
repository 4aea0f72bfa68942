#include "kernels/native/isa/avx512.hpp"
#include "kernels/native/requantizer.hpp"

namespace dynquant::kernels::native {

constinit const requantize_row_functions avx512_requantize_rows = requantize_rows_for<avx512>();

} // namespace dynquant::kernels::native

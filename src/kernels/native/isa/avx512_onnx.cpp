#include "kernels/native/isa/avx512.hpp"
#include "kernels/native/onnx_rows.hpp"

namespace dynquant::kernels::native {

constinit const onnx_row_functions avx512_onnx_rows = onnx_rows_for<avx512>();

} // namespace dynquant::kernels::native

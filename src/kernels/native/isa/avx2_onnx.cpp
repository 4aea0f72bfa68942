#include "kernels/native/isa/avx2.hpp"
#include "kernels/native/onnx_rows.hpp"

namespace dynquant::kernels::native {

constinit const onnx_row_functions avx2_onnx_rows = onnx_rows_for<avx2>();

} // namespace dynquant::kernels::native

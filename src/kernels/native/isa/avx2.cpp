#include "kernels/native/isa/avx2.hpp"
#include "kernels/native/rows.hpp"

namespace dynquant::kernels::native {

constinit const row_functions avx2_rows =
        rows_for<avx2>(avx2_dequantize_converted, avx2_quantize_floats, avx2_requantize_rows, avx2_onnx_rows);

} // namespace dynquant::kernels::native

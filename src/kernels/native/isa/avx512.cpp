#include "kernels/native/isa/avx512.hpp"
#include "kernels/native/rows.hpp"

namespace dynquant::kernels::native {

constinit const row_functions avx512_rows =
        rows_for<avx512>(avx512_dequantize_converted, avx512_quantize_floats, avx512_requantize_rows, avx512_onnx_rows);

} // namespace dynquant::kernels::native

#include "kernels/native/isa/scalar.hpp"
#include "kernels/native/rows.hpp"

namespace dynquant::kernels::native {

constinit const row_functions scalar_rows =
        rows_for<scalar>(scalar_dequantize_converted, scalar_quantize_floats, scalar_requantize_rows, scalar_onnx_rows);

} // namespace dynquant::kernels::native

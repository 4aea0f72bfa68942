#include "kernels/native/isa/scalar.hpp"
#include "kernels/native/onnx_rows.hpp"

namespace dynquant::kernels::native {

constinit const onnx_row_functions scalar_onnx_rows = onnx_rows_for<scalar>();

} // namespace dynquant::kernels::native

#include "kernels/native/isa/scalar.hpp"
#include "kernels/native/requantizer.hpp"

namespace dynquant::kernels::native {

constinit const requantize_row_functions scalar_requantize_rows = requantize_rows_for<scalar>();

} // namespace dynquant::kernels::native

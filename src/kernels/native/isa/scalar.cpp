#include "targets/scalar.hpp"

#include "kernels/native/table.hpp"

namespace dynquant::kernels::native {

constinit const instruction_set scalar_set = table_of<simd::scalar>();

} // namespace dynquant::kernels::native

#include "kernels/native/converted.hpp"
#include "kernels/native/isa/scalar.hpp"

namespace dynquant::kernels::native {

void scalar_dequantize_converted(const call &c, const rectangle &r) {
    dequantize_converted<scalar>(c, r);
}

} // namespace dynquant::kernels::native

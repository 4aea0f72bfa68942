#include "kernels/native/converted.hpp"
#include "kernels/native/isa/scalar.hpp"

namespace dynquant::kernels::native {

void scalar_quantize_floats(const call &c, const rectangle &r) {
    quantize_floats<scalar>(c, r);
}

} // namespace dynquant::kernels::native

#include "kernels/native/converted.hpp"
#include "kernels/native/isa/avx2.hpp"

namespace dynquant::kernels::native {

void avx2_quantize_floats(const call &c, const rectangle &r) {
    quantize_floats<avx2>(c, r);
}

} // namespace dynquant::kernels::native

#include "kernels/native/converted.hpp"
#include "kernels/native/isa/avx2.hpp"

namespace dynquant::kernels::native {

void avx2_dequantize_converted(const call &c, const rectangle &r) {
    dequantize_converted<avx2>(c, r);
}

} // namespace dynquant::kernels::native

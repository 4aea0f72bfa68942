#include "kernels/native/converted.hpp"
#include "kernels/native/isa/avx512.hpp"

namespace dynquant::kernels::native {

void avx512_dequantize_converted(const call &c, const rectangle &r) {
    dequantize_converted<avx512>(c, r);
}

} // namespace dynquant::kernels::native

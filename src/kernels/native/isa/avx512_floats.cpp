#include "kernels/native/converted.hpp"
#include "kernels/native/isa/avx512.hpp"

namespace dynquant::kernels::native {

void avx512_quantize_floats(const call &c, const rectangle &r) {
    quantize_floats<avx512>(c, r);
}

} // namespace dynquant::kernels::native

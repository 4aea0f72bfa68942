#include "kernels/native/microkernel.hpp"

#if defined(__AVX512FP16__) // not every compiler supports it
#include "kernels/native/formulas/float16_product.hpp"
#include "kernels/native/loops.hpp"
#include "targets/avx512_fp16.hpp"

namespace dynquant::kernels::native {
namespace {

template <typename Dst>
constexpr exact_formulas exact_float16() {
    exact_formulas f = {};
    f.kernels.set(form::rows,
            rows<simd::avx512_float16, float16_product<simd::avx512_float16>, float16_bits, Dst, false>,
            access::of_f16);
    f.is_exact = [](const parameter_columns &columns) {
        return has_exact_float16_product(columns.as<quotient_parameters<std::int32_t>>().scale[0]);
    };
    f.min_elements_to_test = 512;
    return f;
}

} // namespace

constinit const exact_formulas avx512_fp16_to_u8 = exact_float16<std::uint8_t>(),
                               avx512_fp16_to_s8 = exact_float16<std::int8_t>();

} // namespace dynquant::kernels::native
#else
namespace dynquant::kernels::native {

constinit const exact_formulas avx512_fp16_to_u8 = {}, avx512_fp16_to_s8 = {};

} // namespace dynquant::kernels::native
#endif

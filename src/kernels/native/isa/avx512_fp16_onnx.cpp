#include "kernels/native/plan.hpp"

#if defined(__AVX512FP16__) // which not every compiler knows
#include "kernels/native/isa/avx512_fp16.hpp"
#include "kernels/native/onnx_rows.hpp"

namespace dynquant::kernels::native {

constinit const row_function avx512_fp16_divided_in_f16 = onnx_divided_in<avx512_fp16, half>;

} // namespace dynquant::kernels::native
#else
namespace dynquant::kernels::native {

constinit const row_function avx512_fp16_divided_in_f16 = nullptr;

} // namespace dynquant::kernels::native
#endif

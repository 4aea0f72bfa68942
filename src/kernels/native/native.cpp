// The hand-written kernel: which row function computes a statement.
#include "kernels/native/fold.hpp"
#include "kernels/native/implementation.hpp"
#include "kernels/native/support.hpp"
#include "quantization/isa.hpp"

namespace dynquant::kernels {
namespace {

using namespace native;

#if defined(__x86_64__)
/// With what this processor has beyond isa::avx512.
const row_functions &best_avx512_rows() {
    static const onnx_row_functions onnx = [] {
        auto result = avx512_onnx_rows;
        if (avx512_fp16_divided_in_f16 && processor_has_fp16()) result.divided_in_f16 = avx512_fp16_divided_in_f16;
        return result;
    }();
    static const row_functions rows = [] {
        auto result = avx512_rows;
        result.onnx = &onnx;
        return result;
    }();
    return rows;
}
#endif

const row_functions &functions_of(isa value) {
#if defined(__x86_64__)
    if (value == isa::avx512) return best_avx512_rows();
    if (value == isa::avx2) return avx2_rows;
#endif
    return scalar_rows;
}

class native_kernel_type final : public kernel {
  public:
    kernel_kind kind() const override { return kernel_kind::native; }

    std::optional<std::string> refusal(const quantization &q, const settings &) const override {
        return unsupported(q);
    }

    std::unique_ptr<implementation> prepare(quantization &q, const settings &s) const override {
        if (auto once = folded(q)) q = std::move(*once);
        return apply_rows(q, s, function_of(functions_of(s.max_isa), q));
    }
};

} // namespace

const kernel &native_kernel() {
    static const native_kernel_type instance;
    return instance;
}

} // namespace dynquant::kernels

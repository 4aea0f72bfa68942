// The hand-written kernel: which row function computes a statement.
#include "kernels/native/implementation.hpp"
#include "kernels/native/support.hpp"
#include "quantization/fold.hpp"

namespace dynquant::kernels {
namespace {

using namespace native;

const row_functions &functions_of(isa value) {
#if defined(__x86_64__)
    if (value == isa::avx512) return avx512_rows;
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

    quantization simplified(const quantization &q) const override { return folded(q).value_or(q); }

    std::unique_ptr<implementation> prepare(const quantization &q, const settings &s) const override {
        return apply_rows(q, s, function_of(functions_of(s.max_isa), q));
    }
};

} // namespace

const kernel &native_kernel() {
    static const native_kernel_type instance;
    return instance;
}

} // namespace dynquant::kernels

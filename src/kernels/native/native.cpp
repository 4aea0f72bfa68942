// The hand-written kernel.
#include "kernels/kernel.hpp"

namespace dynquant::kernels {
namespace {
class native final : public kernel {
  public:
    kernel_kind kind() const override { return kernel_kind::native; }
    std::optional<std::string> refusal(const quantization &, const settings &) const override { return "not yet"; }
    std::unique_ptr<implementation> prepare(const quantization &, const settings &) const override { return nullptr; }
};
} // namespace

const kernel &native_kernel() {
    static const native instance;
    return instance;
}

} // namespace dynquant::kernels

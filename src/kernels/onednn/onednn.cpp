// The statement lowered to one dnnl::reorder.
#include "kernels/kernel.hpp"

namespace dynquant::kernels {
namespace {
class onednn final : public kernel {
  public:
    kernel_kind kind() const override { return kernel_kind::onednn; }
    std::optional<std::string> refusal(const quantization &, const settings &) const override { return "not yet"; }
    std::unique_ptr<implementation> prepare(const quantization &, const settings &) const override { return nullptr; }
};
} // namespace

const kernel &onednn_kernel() {
    static const onednn instance;
    return instance;
}

} // namespace dynquant::kernels

// The native kernel's entry. It computes every statement.
#include "kernels/native/implementation.hpp"

namespace dynquant::kernels {
namespace {

using namespace native;

class native_kernel_type final : public kernel {
  public:
    kernel_kind kind() const override { return kernel_kind::native; }

    attempt prepare(const quantization &q, const settings &s) const override {
        const auto &loops = loops_for(s.available);
        if (q.computed) return {implement_computed(q, s, loops)};
        return {implement(q, canonicalize(q), s, loops)};
    }
};

} // namespace

const kernel &native_kernel() {
    static const native_kernel_type instance;
    return instance;
}

} // namespace dynquant::kernels

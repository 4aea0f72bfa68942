// The ordered list of kernels, and how one is chosen.
#include "kernels/kernels.hpp"

#include <array>

#include "quantization/text.hpp"

namespace dynquant::kernels {
namespace {

using getter = const kernel &(*)();
constexpr std::array<getter, 3> in_order = {native_kernel, onednn_kernel, reference_kernel};

const kernel &find(kernel_kind kind) {
    for (const auto get : in_order)
        if (get().kind() == kind) return get();
    throw error(dnnl_invalid_arguments, "kernel: expected native, onednn or reference");
}

} // namespace

const kernel &choose(const quantization &q, const settings &s, std::optional<kernel_kind> forced) {
    if (forced) {
        const kernel &asked = find(*forced);
        if (const auto why = asked.refusal(q, s))
            throw error(dnnl_unimplemented,
                    concat("kernel: '", to_string(*forced), "' was asked for but cannot compute this: ", *why));
        return asked;
    }
    for (const auto get : in_order)
        if (!get().refusal(q, s)) return get();
    return reference_kernel(); // refuses nothing
}

} // namespace dynquant::kernels

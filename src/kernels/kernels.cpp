// How a kernel is chosen.
#include "kernels/kernels.hpp"

#include "quantization/text.hpp"

namespace dynquant::kernels {
namespace {

const kernel &find(kernel_kind kind) {
    std::string names;
    for (const auto get : in_order()) {
        if (get().kind() == kind) return get();
        names += concat(names.empty() ? "" : " or ", to_string(get().kind()));
    }
    throw error(dnnl_unimplemented, concat("kernel: expected ", names, " in this library, given ", to_string(kind)));
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
    for (const auto get : in_order())
        if (!get().refusal(q, s)) return get();
    return reference_kernel(); // refuses nothing
}

} // namespace dynquant::kernels

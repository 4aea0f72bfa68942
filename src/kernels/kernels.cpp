// Chooses a kernel.
#include "kernels/kernels.hpp"

#include "quantization/text.hpp"

namespace dynquant::kernels {
namespace {

const kernel &find(kernel_kind kind, kernel_list kernels) {
    std::string names;
    for (const auto get : kernels) {
        if (get().kind() == kind) return get();
        names += concat(names.empty() ? "" : " or ", to_string(get().kind()));
    }
    throw error(dnnl_unimplemented, concat("kernel: expected ", names, " in this library, given ", to_string(kind)));
}

} // namespace

kernel_list own_kernels() {
    static constexpr const kernel &(*list[])() = {native_kernel, reference_kernel};
    return list;
}

const kernel &choose(const quantization &q, const settings &s, std::optional<kernel_kind> forced, kernel_list kernels) {
    if (forced) {
        const kernel &chosen = find(*forced, kernels);
        if (const auto why = chosen.refusal(q, s))
            throw error(dnnl_unimplemented,
                    concat("kernel: '", to_string(*forced), "' was asked for but cannot compute this: ", *why));
        return chosen;
    }
    for (const auto get : kernels.first(kernels.size() - 1))
        if (!get().refusal(q, s)) return get();
    return kernels.back()();
}

} // namespace dynquant::kernels

// Chooses a kernel.
#include "kernels/kernels.hpp"

#include "quantization/text.hpp"

namespace dynquant::kernels {
namespace {

const kernel &find(kernel_kind kind, kernel_list kernels) {
    std::string names;
    for (const auto *one : kernels) {
        if (one->kind == kind) return *one;
        names += concat(names.empty() ? "" : " or ", to_string(one->kind));
    }
    throw error(status::unimplemented, concat("kernel: expected ", names, " in this library, given ", to_string(kind)));
}

} // namespace

kernel_list own_kernels() {
    static constexpr const kernel *list[] = {&native_kernel, &reference_kernel};
    return list;
}

std::unique_ptr<implementation> prepare_by_one(
        const quantization &q, const settings &s, std::optional<kernel_kind> forced, kernel_list kernels) {
    if (forced) {
        auto one = find(*forced, kernels).prepare(q, s);
        if (!one.made)
            throw error(status::unimplemented,
                    concat("kernel: '", to_string(*forced), "' was asked for but cannot compute this: ", one.refusal));
        return std::move(one.made);
    }
    for (const auto *each : kernels.first(kernels.size() - 1))
        if (auto one = each->prepare(q, s); one.made) return std::move(one.made);
    return kernels.back()->prepare(q, s).made;
}

} // namespace dynquant::kernels

// The variants that run ONNX's operators: with each instruction set the native kernel where it computes the operator,
// else the kernel that is chosen; and the reference kernel.
#pragma once

#include <ostream>

#include "dynquant/onnx.hpp"
#include "support/variants.hpp"

namespace dynquant::test {

struct onnx_variant {
    std::string name; // "chosen_avx2", "reference"
    options chosen;
};

/// native is forced, as it computes every node.
inline options options_for(const onnx_variant &v) {
    auto result = v.chosen;
    if (!result.kernel) result.kernel = kernel_kind::native;
    return result;
}

inline std::ostream &operator<<(std::ostream &out, const onnx_variant &v) {
    return out << v.name;
}

inline std::vector<onnx_variant> onnx_variants() {
    std::vector<onnx_variant> result;
    for (const auto &v : universal_variants()) {
        auto chosen = v.forced();
        if (v.kernel == kernel_kind::native) chosen.kernel.reset(); // native refuses some of these nodes
        const auto name = v.kernel == kernel_kind::native ? std::string("chosen_") + to_string(v.max_isa) : v.name();
        result.push_back({name, chosen});
    }
    return result;
}

} // namespace dynquant::test

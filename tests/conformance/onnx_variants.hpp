// The ways in which a test runs ONNX's operators: the kernel that is chosen with each instruction set, and the
// reference kernel.
#pragma once

#include <ostream>

#include "support/variants.hpp"

namespace dynquant::test {

struct onnx_variant {
    std::string name; // "chosen_avx2", "reference"
    options chosen;
};

inline std::ostream &operator<<(std::ostream &out, const onnx_variant &v) {
    return out << v.name;
}

inline std::vector<onnx_variant> onnx_variants() {
    std::vector<onnx_variant> result;
    for (const auto &v : universal_variants()) {
        auto chosen = v.forced();
        if (v.kernel == kernel_kind::native) chosen.kernel.reset(); // which refuses some of them
        const auto name = v.kernel == kernel_kind::native ? std::string("chosen_") + to_string(v.max_isa) : v.name();
        result.push_back({name, chosen});
    }
    return result;
}

} // namespace dynquant::test

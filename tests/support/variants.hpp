// The variants that a test runs: each kernel, and the native kernel with each instruction set of this processor.
#pragma once

#include <ostream>
#include <string>
#include <vector>

#include "dynquant/quantization.hpp"

namespace dynquant::test {

struct variant {
    kernel_kind kernel;
    isa max_isa;

    /// Options that force it.
    options forced() const { return {kernel, max_isa, 0, {}}; }
    /// Such as "native_avx2" or "reference".
    std::string name() const;
};

std::ostream &operator<<(std::ostream &out, const variant &v);

/// The variants of the kernels that compute every statement: native with each instruction set, and reference.
std::vector<variant> universal_variants();
variant onednn_variant();
/// universal_variants() and onednn_variant().
std::vector<variant> all_variants();

/// Whether the onednn kernel, where it is built, must accept q. It may accept more.
bool onednn_must_compute(const quantization &q);

} // namespace dynquant::test

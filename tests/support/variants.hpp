// The ways to compute that a test runs over: each kernel, and the native one with each instruction set
// that this processor has.
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
    /// "native_avx2", "reference"
    std::string name() const;
};

std::ostream &operator<<(std::ostream &out, const variant &v);

/// The kernels that claim every statement: native with each instruction set, and reference.
std::vector<variant> universal_variants();
variant onednn_variant();
/// Both of the above.
std::vector<variant> all_variants();

/// What the contract says of who computes what, written from it and not from the kernels' code.
bool native_computes(const quantization &q);
/// Statements that onednn has to take; it may take more.
bool onednn_must_compute(const quantization &q);

} // namespace dynquant::test

// The kernel interface: one way to compute some statements.
//
// This folder chooses and wraps kernels; native/, onednn/ and reference/ implement them. Kernels include quantization/
// and parallel/, and depend on no front-end. Start with kernels.hpp and operation.cpp.
#pragma once

#include <memory>
#include <string>

#include "dynquant/quantization.hpp"
#include "targets/features.hpp"

namespace dynquant::kernels {

/// Options of prepare() that kernels see, with the environment applied.
struct settings {
    targets::features available = targets::scalar; // of the processor, up to the caller's cap
    int threads = 0;                               // 0: the concurrency of the caller's arena at run time
};

/// A prepared statement. Immutable: run() is called from many threads at once.
class implementation {
  public:
    implementation() = default;
    implementation(const implementation &) = delete;
    implementation &operator=(const implementation &) = delete;
    virtual ~implementation() = default;

    virtual operation_info info() const = 0;

    /// Computes dst. The pointers that the statement needs are not null, the volume is not zero, and
    /// known parameters are already filled in. Does not allocate, lock or search.
    virtual void run(const arguments &args) const = 0;
};

/// What a kernel makes of a statement: an implementation, or the reason why it makes none, as the end of a sentence
/// ("the zero points are ...").
struct attempt {
    std::unique_ptr<implementation> made = {};
    std::string refusal = {};
};

struct kernel {
    kernel_kind kind;
    /// Prepares q, which has passed check(), or refuses it. One function does both, so that what a refusal has found
    /// out about a statement is not found out again.
    attempt (*prepare)(const quantization &q, const settings &s);
};

/// The ordered lists of them are in kernels.hpp.
extern const kernel native_kernel, onednn_kernel, reference_kernel;

} // namespace dynquant::kernels

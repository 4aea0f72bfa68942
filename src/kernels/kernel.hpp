// What a kernel is: one way to compute some quantizations. A kernel knows no front-end.
#pragma once

#include <memory>
#include <optional>
#include <string>

#include "dynquant/quantization.hpp"

namespace dynquant::kernels {

/// What prepare() hands to a kernel: options with the environment already applied.
struct settings {
    isa max_isa = isa::scalar;
    int threads = 0; // 0: the concurrency of the caller's arena at run time
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

class kernel {
  public:
    virtual ~kernel() = default;

    virtual kernel_kind kind() const = 0;

    /// Why this kernel cannot compute q, as the end of a sentence ("the zero points are ..."), or
    /// nothing when it can. q has passed check().
    virtual std::optional<std::string> refusal(const quantization &q, const settings &s) const = 0;

    /// Prepares q, which refusal() accepts, or turns it into a statement with the same results that this kernel
    /// computes faster: the known parameters that run() is given are those of q afterwards.
    virtual std::unique_ptr<implementation> prepare(quantization &q, const settings &s) const = 0;
};

/// One function for each kernel; the ordered lists of them are in kernels.hpp.
const kernel &native_kernel();
const kernel &onednn_kernel();
const kernel &reference_kernel();

} // namespace dynquant::kernels

// Chooses a kernel and prepares a statement with it.
#pragma once

#include <span>

#include "kernels/kernel.hpp"

namespace dynquant::kernels {

/// Kernels in the order in which they are tried. The last refuses nothing. The caller of prepare() passes the list, so
/// that only libraries that use oneDNN's reorder link oneDNN.
using kernel_list = std::span<const kernel *const>;

/// native, onednn, reference. Without onednn in builds without oneDNN.
kernel_list every_kernel();

/// native, reference: for libraries that are not linked with oneDNN.
kernel_list own_kernels();

/// Prepares q by the forced kernel, or by the first in order that does not refuse it, as kernel::prepare() does.
/// Throws error (unimplemented) when the forced kernel is not in the list or refuses q, with its reason.
std::unique_ptr<implementation> prepare_by_one(
        const quantization &q, const settings &s, std::optional<kernel_kind> forced, kernel_list kernels);

/// Names of the buffers in messages, which differ between front-ends.
struct argument_names {
    const char *src = "src", *scales = "scales", *zero_points = "zps", *dst = "dst", *second_scales = "second scales";
};

/// dynquant::prepare() of a statement that has passed check().
operation prepare(const quantization &q, const options &opts, kernel_list kernels, const argument_names &names = {});

} // namespace dynquant::kernels

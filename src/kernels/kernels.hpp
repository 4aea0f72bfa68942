// Choosing a kernel, and preparing a statement by it.
#pragma once

#include <span>

#include "kernels/kernel.hpp"

namespace dynquant::kernels {

/// Kernels in the order in which they are tried; the last refuses nothing. Whoever calls prepare() brings the list, so
/// that only libraries that use oneDNN's reorder link it.
using kernel_list = std::span<const kernel &(*const)()>;

/// native, onednn, reference; onednn only where this is built with oneDNN.
kernel_list every_kernel();

/// native, reference: for libraries that are not linked with oneDNN.
kernel_list own_kernels();

/// The forced kernel, or the first in order that does not refuse q.
/// Throws error (unimplemented) when the forced kernel is not in the list or refuses q, with its reason.
const kernel &choose(const quantization &q, const settings &s, std::optional<kernel_kind> forced, kernel_list kernels);

/// What messages call the buffers that a front-end has names of its own for.
struct argument_names {
    const char *src = "src", *scales = "scales", *zero_points = "zps", *dst = "dst";
};

/// dynquant::prepare() of a statement that has passed check().
operation prepare(const quantization &q, const options &opts, kernel_list kernels, const argument_names &names = {});

} // namespace dynquant::kernels

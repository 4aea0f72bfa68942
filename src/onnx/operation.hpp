// prepare() with a given list of kernels.
#pragma once

#include "dynquant/onnx.hpp"
#include "kernels/kernels.hpp"

namespace dynquant::onnx {

/// The public prepare() passes every kernel.
operation prepare(const node &n, const options &opts, kernels::kernel_list kernels);

} // namespace dynquant::onnx

// A row function applied to a statement: canonical form, task split, streaming. Apart from the kernel, so that
// the benchmark driver can measure other row functions under the same conditions.
#pragma once

#include <memory>

#include "kernels/kernel.hpp"
#include "kernels/native/plan.hpp"

namespace dynquant::kernels::native {

/// The one of them that computes q.
row_function function_of(const row_functions &functions, const quantization &q);

/// Needs a canonical form of q.
std::unique_ptr<implementation> apply_rows(const quantization &q, const settings &s, row_function function);

} // namespace dynquant::kernels::native

// The native kernel's implementation of a statement, on the microkernels of one instruction set.
//
// plan.cpp chooses formulas, codecs and loop order at prepare, resolve.cpp the microkernels. driver.cpp, transposed.cpp
// and chunk.cpp run the plan, compiled for the baseline instruction set. table.hpp is compiled once for each
// instruction set, in isa/; what it includes has internal linkage. Start with plan.hpp and microkernel.hpp.
#pragma once

#include <memory>

#include "kernels/kernel.hpp"
#include "kernels/native/microkernel.hpp"
#include "quantization/canonical.hpp"

namespace dynquant::kernels::native {

const kernel_loops &loops_for(targets::features available);

/// Which results bypass the caches. large: those for which pays_to_stream() (processor.hpp). always: for boxes of a
/// statement for which it pays, and for tests.
enum class streaming { large, always };

/// `forms` is canonicalize(q).
std::unique_ptr<implementation> implement(const quantization &q, const std::vector<canonical_form> &forms,
        const settings &s, const kernel_loops &loops, streaming when = streaming::large);

/// implement() of a statement whose scales are computed (dynquant::scale_rule): ranges of blocks, parameters, and then
/// a statement with these parameters, a box of the tensor at a time.
std::unique_ptr<implementation> implement_computed(const quantization &q, const settings &s, const kernel_loops &loops);

} // namespace dynquant::kernels::native

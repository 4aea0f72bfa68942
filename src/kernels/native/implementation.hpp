// A statement on the microkernels of an instruction set.
#pragma once

#include <memory>

#include "kernels/kernel.hpp"
#include "kernels/native/microkernel.hpp"

namespace dynquant::kernels::native {

/// The best instruction set that this processor has and `allowed` admits.
const instruction_set &instruction_set_of(isa allowed);

/// Results of this many bytes and more are streamed: a quarter of the last-level cache, which src and other programs
/// share.
std::int64_t streaming_bytes();

/// When results go past the caches: where they are too large for them; always is for tests.
enum class streaming { large, always };

std::unique_ptr<implementation> implement(
        const quantization &q, const settings &s, const instruction_set &set, streaming when = streaming::large);

} // namespace dynquant::kernels::native

// What depends on the processor's caches. The software prefetch distance is in microkernel.hpp.
#pragma once

#include <cstdint>

#include "dynquant/quantization.hpp"

namespace dynquant::kernels::native {

/// Whether non-temporal stores pay, by the bytes of src and dst: from a quarter of the last-level cache for dst on, as
/// src and other programs share it. On AMD's processors src must also take three quarters: their cache keeps a part of
/// dst from call to call, and non-temporal stores are slower than stores to it.
bool pays_to_stream(std::int64_t src_bytes, std::int64_t dst_bytes);

/// The same by types. A src of stride 0 may have more elements than memory has bytes.
bool pays_to_stream(data_type src, data_type dst, std::int64_t elements);

} // namespace dynquant::kernels::native

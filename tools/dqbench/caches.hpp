// Evicts buffers from the processor's caches.
#pragma once

#include <cstddef>
#include <span>
#include <vector>

namespace dqbench {

/// Evicts every cache line of the buffers. Where the processor has no instruction for it, hardly any line remains.
void evict(const std::vector<std::span<const std::byte>> &buffers);

} // namespace dqbench

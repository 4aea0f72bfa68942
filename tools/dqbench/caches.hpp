// Taking buffers out of the processor's caches.
#pragma once

#include <cstddef>
#include <span>
#include <vector>

namespace dqbench {

/// None of their lines is in any cache afterwards; or, where no instruction says so, hardly any.
void evict(const std::vector<std::span<const std::byte>> &buffers);

} // namespace dqbench

// The sizes of the processor's caches.
#pragma once

#include <cstdint>

namespace dynquant::targets {

/// Bytes of the first processor's second-level cache; 0 if unknown.
std::int64_t second_level_cache();

} // namespace dynquant::targets

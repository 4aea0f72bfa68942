#include "caches.hpp"

#if defined(__x86_64__)
#include <immintrin.h>
#else
#include <algorithm>
#include <unistd.h>
#endif

namespace dqbench {

#if defined(__x86_64__)

void evict(const std::vector<std::span<const std::byte>> &buffers) {
    constexpr std::size_t line = 64;
    for (const auto &buffer : buffers) {
        if (buffer.empty()) continue;
        for (std::size_t i = 0; i < buffer.size(); i += line)
            _mm_clflush(&buffer[i]);
        _mm_clflush(&buffer.back()); // an unaligned buffer may end in one line more
    }
    _mm_mfence();
}

#else

/// Writes more memory than the last-level cache holds.
void evict(const std::vector<std::span<const std::byte>> &) {
    constexpr long min_cache_bytes = 64L << 20;
    static std::vector<std::byte> other(
            static_cast<std::size_t>(2 * std::max(sysconf(_SC_LEVEL3_CACHE_SIZE), min_cache_bytes)));
    for (auto &b : other)
        b = static_cast<std::byte>(static_cast<unsigned char>(b) + 1);
}

#endif

} // namespace dqbench

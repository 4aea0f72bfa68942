#include "kernels/native/processor.hpp"

#include <algorithm>
#include <unistd.h>

#include "elements/table.hpp"
#include "kernels/native/microkernel.hpp"
#include "targets/features.hpp"

namespace dynquant::kernels::native {
namespace {

/// The last-level cache that a core has access to. Without stores that bypass it, and where glibc knows none, as on
/// ARM, it holds everything.
std::int64_t last_level_cache() {
    constexpr std::int64_t usual = targets::has_streaming_stores ? 32 << 20 : INT64_MAX;
    const std::int64_t all = sysconf(_SC_LEVEL3_CACHE_SIZE), own = targets::level3_of_complex();
    if (all <= 0) return own > 0 ? own : usual;
    return own > 0 ? std::min(all, own) : all;
}

} // namespace

const std::int64_t prefetch_distance = targets::processor_vendor() == targets::vendor::intel ? 4096 : 0;

bool pays_to_stream(std::int64_t src_bytes, std::int64_t dst_bytes) {
    static const auto cache = last_level_cache();
    static const auto min_src = targets::processor_vendor() == targets::vendor::amd ? cache / 4 * 3 : 0;
    return dst_bytes >= cache / 4 && src_bytes >= min_src;
}

bool pays_to_stream(data_type src, data_type dst, std::int64_t elements) {
    constexpr auto most = INT64_MAX / 8; // of 8 bytes or fewer each; far beyond any cache
    return pays_to_stream(size_in_bytes(src, std::min(elements, most)), size_in_bytes(dst, std::min(elements, most)));
}

} // namespace dynquant::kernels::native

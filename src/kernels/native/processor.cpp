#include "kernels/native/processor.hpp"

#include <algorithm>
#include <unistd.h>

#include "kernels/native/microkernel.hpp"
#include "quantization/data_type.hpp"

#if defined(__x86_64__)
#include <cpuid.h>
#endif

namespace dynquant::kernels::native {
namespace {

#if defined(__x86_64__)
bool is_amd() {
    return __builtin_cpu_is("amd") != 0;
}

/// The third-level cache of one core complex of an AMD processor; 0 if unknown. sysconf() adds up those of all.
long level3_of_complex() {
    constexpr unsigned cache_properties = 0x8000001d, third = 3; // AMD64 Programmer's Manual, volume 3, E.4.15
    unsigned eax = 0, ebx = 0, ecx = 0, edx = 0;
    if (__get_cpuid_count(cache_properties, third, &eax, &ebx, &ecx, &edx) == 0 || (eax & 31) == 0) return 0;
    const auto ways = (ebx >> 22) + 1L, partitions = (ebx >> 12 & 1023) + 1L, line = (ebx & 4095) + 1L;
    return ways * partitions * line * (ecx + 1L);
}
#else
bool is_amd() {
    return false;
}
long level3_of_complex() {
    return 0;
}
#endif

/// The last-level cache that a core has access to.
std::int64_t last_level_cache() {
    constexpr long usual = 32L << 20;
    const long all = sysconf(_SC_LEVEL3_CACHE_SIZE), own = is_amd() ? level3_of_complex() : 0;
    if (all <= 0) return own > 0 ? own : usual;
    return own > 0 ? std::min(all, own) : all;
}

} // namespace

#if defined(__x86_64__)
const std::int64_t prefetch_distance = __builtin_cpu_is("intel") ? 4096 : 0;
#else
const std::int64_t prefetch_distance = 0;
#endif

bool pays_to_stream(std::int64_t src_bytes, std::int64_t dst_bytes) {
    static const auto cache = last_level_cache();
    static const auto least_src = is_amd() ? cache / 4 * 3 : 0;
    return dst_bytes >= cache / 4 && src_bytes >= least_src;
}

bool pays_to_stream(data_type src, data_type dst, std::int64_t elements) {
    constexpr auto most = INT64_MAX / 8; // of 8 bytes or fewer each; far beyond any cache
    return pays_to_stream(size_in_bytes(src, std::min(elements, most)), size_in_bytes(dst, std::min(elements, most)));
}

} // namespace dynquant::kernels::native

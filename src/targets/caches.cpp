#include "targets/caches.hpp"

#include <fstream>
#include <string>
#include <unistd.h>

namespace dynquant::targets {
namespace {

/// What Linux says. On 64-bit ARM glibc does not ask it, and answers 0.
std::int64_t from_sys() {
    for (int index = 0;; ++index) {
        const auto folder = "/sys/devices/system/cpu/cpu0/cache/index" + std::to_string(index) + '/';
        int level = 0;
        if (!(std::ifstream(folder + "level") >> level)) return 0;
        std::int64_t size = 0;
        char unit = 0;
        if (level == 2 && std::ifstream(folder + "size") >> size >> unit)
            return unit == 'K' ? size << 10 : unit == 'M' ? size << 20 : 0;
    }
}

} // namespace

std::int64_t second_level_cache() {
    const long known = sysconf(_SC_LEVEL2_CACHE_SIZE);
    return known > 0 ? known : from_sys();
}

} // namespace dynquant::targets

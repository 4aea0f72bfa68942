#include "model/memory_plan.hpp"

#include <algorithm>
#include <numeric>

namespace dynquant::models {
namespace {

constexpr std::size_t cache_line = 64;

bool overlap(const lifetime &a, const lifetime &b) {
    return a.first <= b.last && b.first <= a.last;
}

} // namespace

memory_plan plan_memory(const std::vector<lifetime> &lifetimes) {
    std::vector<std::size_t> by_size(lifetimes.size());
    std::iota(by_size.begin(), by_size.end(), 0);
    std::ranges::stable_sort(by_size, std::greater<>(), [&](std::size_t i) { return lifetimes[i].bytes; });

    memory_plan plan;
    plan.offsets.resize(lifetimes.size());
    std::vector<std::size_t> placed; // by their offsets
    for (const auto i : by_size) {
        std::size_t offset = 0;
        for (const auto other : placed) {
            if (!overlap(lifetimes[i], lifetimes[other])) continue;
            if (offset + lifetimes[i].bytes <= plan.offsets[other]) break;
            const auto end = plan.offsets[other] + lifetimes[other].bytes;
            offset = std::max(offset, (end + cache_line - 1) / cache_line * cache_line);
        }
        plan.offsets[i] = offset;
        plan.bytes = std::max(plan.bytes, offset + lifetimes[i].bytes);
        const auto at = std::ranges::upper_bound(placed, offset, {}, [&](std::size_t p) { return plan.offsets[p]; });
        placed.insert(at, i);
    }
    return plan;
}

} // namespace dynquant::models

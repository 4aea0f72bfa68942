#include "model/memory_plan.hpp"

#include <algorithm>
#include <map>
#include <numeric>
#include <set>

namespace dynquant::models {
namespace {

constexpr std::size_t cache_line = 64;

std::size_t in_cache_lines(std::size_t bytes) {
    return (bytes + cache_line - 1) / cache_line * cache_line;
}

/// The free list of a workspace. Memory beyond its end is free.
class free_bytes {
  public:
    /// Takes the smallest free block that fits. Otherwise extends the last free block, or the end.
    std::size_t take(std::size_t bytes) {
        if (const auto best = by_size_.lower_bound({bytes, 0}); best != by_size_.end()) {
            const auto [size, offset] = *best;
            remove(offset);
            if (size > bytes) insert(offset + bytes, size - bytes);
            return offset;
        }
        auto offset = end_;
        if (!by_offset_.empty())
            if (const auto [last, size] = *by_offset_.rbegin(); last + size == end_) {
                offset = last;
                remove(last);
            }
        end_ = offset + bytes;
        return offset;
    }

    /// Frees a block and merges it with adjacent free blocks.
    void give_back(std::size_t offset, std::size_t bytes) {
        const auto next = by_offset_.lower_bound(offset);
        if (next != by_offset_.begin())
            if (const auto [before, size] = *std::prev(next); before + size == offset) {
                offset = before;
                bytes += size;
                remove(before);
            }
        if (const auto after = by_offset_.find(offset + bytes); after != by_offset_.end()) {
            bytes += after->second;
            remove(after->first);
        }
        insert(offset, bytes);
    }

  private:
    void insert(std::size_t offset, std::size_t bytes) {
        by_offset_[offset] = bytes;
        by_size_.insert({bytes, offset});
    }
    void remove(std::size_t offset) {
        const auto hole = by_offset_.find(offset);
        by_size_.erase({hole->second, offset});
        by_offset_.erase(hole);
    }

    std::map<std::size_t, std::size_t> by_offset_;          // bytes of the free block at each offset
    std::set<std::pair<std::size_t, std::size_t>> by_size_; // bytes, offset
    std::size_t end_ = 0;
};

} // namespace

memory_plan plan_memory(const std::vector<lifetime> &lifetimes) {
    std::vector<std::size_t> in_time(lifetimes.size());
    std::iota(in_time.begin(), in_time.end(), 0);
    std::ranges::sort(in_time, [&](std::size_t i, std::size_t j) {
        const auto &a = lifetimes[i], &b = lifetimes[j];
        return a.first != b.first ? a.first < b.first : a.bytes != b.bytes ? a.bytes > b.bytes : i < j;
    });

    memory_plan plan;
    plan.offsets.resize(lifetimes.size());
    free_bytes unused;
    std::multimap<std::size_t, std::size_t> live; // indices of lifetimes, by last step
    for (const auto i : in_time) {
        const auto &life = lifetimes[i];
        if (life.bytes == 0) continue;
        for (; !live.empty() && live.begin()->first < life.first; live.erase(live.begin())) {
            const auto ended = live.begin()->second;
            unused.give_back(plan.offsets[ended], in_cache_lines(lifetimes[ended].bytes));
        }
        plan.offsets[i] = unused.take(in_cache_lines(life.bytes));
        plan.bytes = std::max(plan.bytes, plan.offsets[i] + life.bytes);
        live.emplace(life.last, i);
    }
    return plan;
}

} // namespace dynquant::models

// A small cache of what was prepared last.
#pragma once

#include <algorithm>
#include <array>
#include <atomic>
#include <cstddef>
#include <memory>

namespace dynquant::parallel {

/// Keeps the newest objects, which may take some KiB each, and which each call searches. Thread safe. No thread waits
/// while another one searches or makes a list. libstdc++ locks the pointer to the list by one of its bits, for as long
/// as it takes to copy or to replace the pointer: its atomic<shared_ptr> is not lock-free.
template <typename T, std::size_t capacity = 128>
class newest {
  public:
    static constexpr std::size_t size = capacity;

    /// The newest object that matches(object) is true of, or null.
    template <typename Matches>
    std::shared_ptr<const T> find(const Matches &matches) const {
        const auto all = all_.load(std::memory_order_acquire);
        const auto found = std::ranges::find_if(*all, [&](const auto &object) { return object && matches(*object); });
        return found == all->end() ? nullptr : *found;
    }

    /// The newest object that matches(object) is true of, or what make() returns, which is added.
    template <typename Matches, typename Make>
    std::shared_ptr<const T> find_or_add(const Matches &matches, const Make &make) {
        auto object = find(matches);
        if (!object) add(object = make());
        return object;
    }

    /// Replaces the oldest. Two threads may add objects for the same shapes at once; both then stay for a while.
    void add(const std::shared_ptr<const T> &object) {
        auto before = all_.load(std::memory_order_acquire);
        for (;;) {
            auto after = std::make_shared<list>();
            (*after)[0] = object;
            std::copy(before->begin(), before->end() - 1, after->begin() + 1);
            std::shared_ptr<const list> result = std::move(after);
            if (all_.compare_exchange_weak(before, result, std::memory_order_acq_rel)) return;
        }
    }

  private:
    using list = std::array<std::shared_ptr<const T>, size>;
    std::atomic<std::shared_ptr<const list>> all_ = std::make_shared<const list>();
};

} // namespace dynquant::parallel

// A small cache of what was prepared last.
#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
#include <memory>
#include <mutex>
#include <utility>

namespace dynquant::parallel {

/// Keeps the newest objects, which may take some KiB each, and which each call searches. Thread safe. No thread waits
/// while another one searches or makes a list, but only while one copies or replaces the pointer to the list. That is
/// not std::atomic<std::shared_ptr>, whose load() libstdc++ (12 to 14) ends by a relaxed unlock: on 64-bit ARM another
/// thread may replace the pointer before it is read, and free what it gives.
template <typename T, std::size_t capacity = 128>
class newest {
  public:
    static constexpr std::size_t size = capacity;

    /// The newest object that matches(object) is true of, or null.
    template <typename Matches>
    std::shared_ptr<const T> find(const Matches &matches) const {
        const auto all = current();
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
        for (;;) {
            const auto before = current();
            auto after = std::make_shared<list>();
            (*after)[0] = object;
            std::copy(before->begin(), before->end() - 1, after->begin() + 1);
            if (replace(before, std::move(after))) return;
        }
    }

  private:
    using list = std::array<std::shared_ptr<const T>, size>;

    std::shared_ptr<const list> current() const {
        const std::lock_guard lock(mutex_);
        return all_;
    }
    bool replace(const std::shared_ptr<const list> &before, std::shared_ptr<const list> after) {
        const std::lock_guard lock(mutex_);
        if (all_ != before) return false;
        all_.swap(after); // the list before is still the caller's, who may free it after the lock
        return true;
    }

    mutable std::mutex mutex_;
    std::shared_ptr<const list> all_ = std::make_shared<const list>();
};

} // namespace dynquant::parallel

// A cache of objects, each used by one call at a time.
#pragma once

#include <array>
#include <atomic>
#include <memory>

namespace dynquant::parallel {

/// Keeps idle objects for later calls. Thread safe and lock-free. A new object is made only when more calls run at once
/// than ever before, or than there are slots.
///
/// Unlike thread-local objects, there are only as many as concurrent calls, and a nested call gets another object.
template <typename T>
class object_pool {
  public:
    object_pool() = default;
    object_pool(const object_pool &) = delete;
    object_pool &operator=(const object_pool &) = delete;
    ~object_pool() {
        for (auto &slot : slots_)
            delete slot.load();
    }

    /// An idle object, or a new one from make().
    template <typename Make>
    std::unique_ptr<T> take(Make &&make) {
        for (auto &slot : slots_)
            if (slot.load(std::memory_order_relaxed))
                if (T *object = slot.exchange(nullptr, std::memory_order_acquire)) return std::unique_ptr<T>(object);
        return make();
    }

    /// Keeps the object if there is room.
    void give_back(std::unique_ptr<T> object) {
        for (auto &slot : slots_) {
            T *expected = nullptr;
            if (!slot.load(std::memory_order_relaxed)
                    && slot.compare_exchange_strong(expected, object.get(), std::memory_order_release)) {
                object.release();
                return;
            }
        }
    }

  private:
    std::array<std::atomic<T *>, 64> slots_ = {};
};

} // namespace dynquant::parallel

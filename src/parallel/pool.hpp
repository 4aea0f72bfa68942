// Objects that are used by one call at a time.
#pragma once

#include <array>
#include <atomic>
#include <memory>

namespace dynquant::parallel {

/// Keeps idle objects, so that a call finds one that an earlier call has made. Neither locks nor, unless
/// more calls run at once than ever before (or than there are slots), allocates.
///
/// There are as many objects as calls at once, which may be fewer than threads, and a thread that enters a
/// call within a call gets another one, which a thread-local object would not be.
template <typename T>
class pool {
  public:
    pool() = default;
    pool(const pool &) = delete;
    pool &operator=(const pool &) = delete;
    ~pool() {
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

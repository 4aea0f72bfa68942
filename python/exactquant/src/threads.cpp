// The threads of calls: a pool that starts with the first call that splits its work.
#include "threads.hpp"

#include <pthread.h>

#include <algorithm>
#include <atomic>
#include <condition_variable>
#include <mutex>
#include <system_error>
#include <thread>

#include "parallel/executor.hpp"

namespace exactquant {
namespace {

/// The process may use so many.
int processors() {
    static const int count = static_cast<int>(std::max(std::thread::hardware_concurrency(), 1U));
    return count;
}

std::atomic<int> limit = 0; // 0: as many as there are processors

int concurrency() {
    const int most = limit.load(std::memory_order_relaxed);
    return most > 0 ? most : processors();
}

/// Runs the parts of one call at a time. The thread that calls takes parts, too.
class pool {
  public:
    explicit pool(int threads) {
        try {
            for (int i = 0; i < threads; ++i)
                std::thread([this] { work(); }).detach(); // they live as long as the process
        } catch (const std::system_error &) {
            // The process may have no more: those that there are use this object, and the caller takes parts, too.
        }
    }

    bool try_to_run(int parts, void (*function)(const void *, int), const void *body) {
        const std::unique_lock one(run_, std::try_to_lock);
        if (!one) return false; // another call has the threads
        {
            const std::lock_guard guard(mutex_);
            function_ = function;
            body_ = body;
            parts_ = parts;
            next_ = 0;
            done_ = 0;
        }
        wake_.notify_all();
        take_parts();
        std::unique_lock lock(mutex_);
        finished_.wait(lock, [&] { return done_ == parts_; });
        parts_ = next_ = 0;
        return true;
    }

  private:
    void take_parts() {
        std::unique_lock lock(mutex_);
        while (next_ < parts_) {
            const int index = next_++;
            const auto function = function_;
            const auto *const body = body_;
            lock.unlock();
            function(body, index);
            lock.lock();
            if (++done_ == parts_) finished_.notify_one();
        }
    }

    void work() {
        for (;;) {
            {
                std::unique_lock lock(mutex_);
                wake_.wait(lock, [&] { return next_ < parts_; });
            }
            take_parts();
        }
    }

    std::mutex run_, mutex_;
    std::condition_variable wake_, finished_;
    void (*function_)(const void *, int) = nullptr;
    const void *body_ = nullptr;
    int parts_ = 0, next_ = 0, done_ = 0;
};

/// A child of fork() has none of its parent's threads and maybe locks that nobody opens: it gets a pool of its own, and
/// the parent's is left as it is.
pool &threads() {
    static std::atomic<pool *> current = nullptr;
    static std::mutex making;
    static const int registered = pthread_atfork([] { making.lock(); }, [] { making.unlock(); },
            [] {
                current = nullptr;
                making.unlock();
            });
    static_cast<void>(registered);
    if (auto *const found = current.load(std::memory_order_acquire)) return *found;
    const std::lock_guard guard(making);
    if (!current) current = new pool(std::max(processors() - 1, 1));
    return *current;
}

void run(int parts, void (*function)(const void *, int), const void *body) {
    if (parts == 1 || !threads().try_to_run(parts, function, body)) dynquant::parallel::run_here(parts, function, body);
}

constexpr dynquant::parallel::executor own_threads = {concurrency, run, 16 * 1024};

} // namespace

void set_threads(int count) {
    limit = count;
}

int get_threads() {
    return concurrency();
}

} // namespace exactquant

const dynquant::parallel::executor &dynquant::parallel::default_executor() {
    return exactquant::own_threads;
}

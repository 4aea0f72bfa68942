#include "parallel/fork.hpp"

#include <atomic>

#include <pthread.h>

namespace dynquant::parallel {
namespace {

std::atomic<bool> used = false, lost = false;

[[gnu::constructor]] void watch_forks() {
    pthread_atfork(nullptr, nullptr, [] {
        if (used) lost = true;
    });
}

} // namespace

bool may_use_threads() {
    if (!used.load(std::memory_order_relaxed)) used = true; // before the first use, as seen by a fork() in between
    return !lost.load(std::memory_order_relaxed);
}

} // namespace dynquant::parallel

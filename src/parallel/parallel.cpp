#include "parallel/parallel.hpp"

#include <algorithm>
#include <atomic>
#include <utility>

#include "parallel/executor.hpp"
#include "parallel/float_control.hpp"

namespace dynquant::parallel {
namespace {

std::atomic<const executor *> process_executor = nullptr; // set by run_on_openmp
thread_local const executor *thread_executor = nullptr;   // set by scoped_executor

const executor &current_executor() {
    if (thread_executor) return *thread_executor;
    const auto *process = process_executor.load(std::memory_order_acquire);
    return process ? *process : default_executor();
}

} // namespace

scoped_executor::scoped_executor(const executor &threads)
    : before_(std::exchange(thread_executor, &threads)) {}

scoped_executor::~scoped_executor() {
    thread_executor = before_;
}

void run_on_openmp(const void *user) {
    // Whoever sees the executor also sees the functions that it calls, which openmp_executor() has found.
    if (const auto *openmp = openmp_executor(user)) process_executor.store(openmp, std::memory_order_release);
}

int concurrency() {
    return current_executor().concurrency();
}

std::int64_t elements_per_part() {
    return current_executor().elements_per_part;
}

int parts_for(std::int64_t elements, int threads) {
    const auto most = elements / elements_per_part();
    if (most <= 1) return 1; // concurrency() takes time
    return static_cast<int>(std::min<std::int64_t>(most, threads > 0 ? threads : concurrency()));
}

int parts_for_items(std::int64_t items, std::int64_t elements) {
    return static_cast<int>(std::max<std::int64_t>(1, std::min<std::int64_t>(items, parts_for(elements, 0))));
}

range part_of(std::int64_t count, int parts, int index) {
    const auto size = count / parts, longer = count % parts;
    const auto begin = index * size + std::min<std::int64_t>(index, longer);
    return {begin, begin + size + (index < longer ? 1 : 0)};
}

namespace detail {
namespace {

struct work {
    std::int64_t count;
    int parts;
    part_function function;
    const void *body;
};

void run_one(const void *data, int index) {
    const auto &w = *static_cast<const work *>(data);
    const float_control control; // each thread has its own control word
    w.function(w.body, part_of(w.count, w.parts, index), static_cast<std::size_t>(index));
}

} // namespace

void run_parts(std::int64_t count, int parts, part_function function, const void *body) {
    const float_control control;
    if (parts == 1) return function(body, {0, count}, 0);
    const work w = {count, parts, function, body};
    current_executor().run(parts, run_one, &w);
}

} // namespace detail
} // namespace dynquant::parallel

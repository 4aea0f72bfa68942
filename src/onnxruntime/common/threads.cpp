#include "onnxruntime/common/threads.hpp"

#include <algorithm>
#include <thread>
#include <utility>

namespace dynquant::onnxruntime {
namespace {

thread_local session_threads::call current_call = {};

/// The number of processors, as the API does not report how many threads a session has. Surplus parts wait for a
/// thread.
int concurrency() {
    static const int processors = static_cast<int>(std::max(std::thread::hardware_concurrency(), 1U));
    return current_call.most > 0 ? std::min(current_call.most, processors) : processors;
}

struct job {
    void (*function)(const void *body, int index);
    const void *body;
};

void run_one(void *data, std::size_t index) {
    const auto &j = *static_cast<const job *>(data);
    j.function(j.body, static_cast<int>(index));
}

void run(int parts, void (*function)(const void *, int), const void *body) {
    job j = {function, body};
    const auto &[api, context, most] = current_call;
    // Each batch runs on one thread; 0: as many batches as the session has threads.
    OrtStatus *status = api->KernelContext_ParallelFor(
            context, run_one, static_cast<std::size_t>(parts), static_cast<std::size_t>(most), &j);
    if (!status) return;
    api->ReleaseStatus(status); // on failure no part has run
    parallel::run_here(parts, function, body);
}

constexpr parallel::executor threads_of_session = {concurrency, run, 16 * 1024};

/// The calling thread alone.
constexpr parallel::executor no_other_threads = {
        [] { return 1; }, parallel::run_here, threads_of_session.elements_per_part};

} // namespace

session_threads::session_threads(const OrtApi &api, const OrtKernelContext *context, int most)
    : before_(std::exchange(current_call, {&api, context, most}))
    , executor_(threads_of_session) {}

session_threads::~session_threads() {
    current_call = before_;
}

} // namespace dynquant::onnxruntime

/// Outside of a session's runs, as when the session is made, no host lends threads. With TBB's in place of these a
/// process would have a further pool of threads, or a second libtbb beside that of another package.
const dynquant::parallel::executor &dynquant::parallel::default_executor() {
    return onnxruntime::no_other_threads;
}

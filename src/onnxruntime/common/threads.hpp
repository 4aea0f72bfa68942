// The executor on a session's threads.
#pragma once

#include <onnxruntime_c_api.h>

#include "parallel/executor.hpp"

namespace dynquant::onnxruntime {

/// During its lifetime, parts that this thread splits run on the threads of the session that the context belongs to:
/// on `most` of them, or on all where that is 0.
class session_threads {
  public:
    session_threads(const OrtApi &api, const OrtKernelContext *context, int most);
    ~session_threads();
    session_threads(const session_threads &) = delete;
    session_threads &operator=(const session_threads &) = delete;

    struct call {
        const OrtApi *api;
        const OrtKernelContext *context;
        int most;
    };

  private:
    call before_;
    parallel::scoped_executor executor_;
};

} // namespace dynquant::onnxruntime

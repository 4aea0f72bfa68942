// Calling oneDNN so that no thread's control word matters.
#pragma once

namespace dynquant::kernels::onednn {

namespace detail {
using function = void (*)(const void *body);
void run_controlled(function call, const void *body, int threads);
} // namespace detail

/// Calls body(), which calls oneDNN. Whatever the control words of this thread and of the workers are,
/// oneDNN's work rounds to nearest even and keeps subnormals. Meanwhile this thread takes no other work of
/// TBB's, so it may hold locks. oneDNN sees at most `threads` threads, if that is not 0.
template <typename Body>
void run_controlled(const Body &body, int threads = 0) {
    detail::run_controlled([](const void *b) { (*static_cast<const Body *>(b))(); }, &body, threads);
}

} // namespace dynquant::kernels::onednn

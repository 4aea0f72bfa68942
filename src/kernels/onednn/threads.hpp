// Calls oneDNN under the floating-point control word of float_control.
#pragma once

namespace dynquant::kernels::onednn {

namespace detail {
using function = void (*)(const void *body);
void run_controlled(function call, const void *body, int threads);
} // namespace detail

/// Calls body(), which calls oneDNN. oneDNN rounds to nearest even and keeps subnormals, whatever the control words of
/// this thread and of the workers. Meanwhile this thread executes no other TBB tasks, so it may hold locks. oneDNN sees
/// at most `threads` threads, unless that is 0.
template <typename Body>
void run_controlled(const Body &body, int threads = 0) {
    detail::run_controlled([](const void *b) { (*static_cast<const Body *>(b))(); }, &body, threads);
}

} // namespace dynquant::kernels::onednn

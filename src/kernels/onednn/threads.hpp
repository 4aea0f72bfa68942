// Running oneDNN so that no thread's control word matters.
#pragma once

namespace dynquant::kernels::onednn {

namespace detail {
using function = void (*)(const void *body);
void run_controlled(function call, const void *body);
} // namespace detail

/// Calls body(), which calls oneDNN. Whatever the control words of this thread and of the workers, the
/// reorder rounds to nearest even and keeps subnormals. body must not throw.
template <typename Body>
void run_controlled(const Body &body) {
    detail::run_controlled([](const void *b) { (*static_cast<const Body *>(b))(); }, &body);
}

} // namespace dynquant::kernels::onednn

#include "progress.hpp"

#include <cmath>
#include <cstdio>
#include <unistd.h>

namespace dqbench {

constexpr double least_interval_ms = 100;

progress::progress(double total, bool is_long)
    : total_(total)
    , shown_(is_long && isatty(STDERR_FILENO) != 0)
    , shares_terminal_(shown_ && isatty(STDOUT_FILENO) != 0) {}

void progress::show(double done) {
    if (!shown_ || done <= 0) return;
    if (done >= total_) {
        erase();
        return;
    }
    // On a shared terminal hide() has erased it, so it is shown again at once.
    if (!shares_terminal_ && milliseconds_since(last_) < least_interval_ms) return;
    const double elapsed = milliseconds_since(start_) / 1e3;
    std::fprintf(stderr, "\r[%.0f/%.0f] %.0f%%, %.0f s, about %.0f s left\033[K", done, total_,
            std::floor(100 * done / total_), elapsed, elapsed / done * (total_ - done));
    last_ = clock::now();
}

void progress::hide() const {
    if (shares_terminal_) erase();
}

void progress::erase() {
    std::fputs("\r\033[K", stderr);
}

} // namespace dqbench

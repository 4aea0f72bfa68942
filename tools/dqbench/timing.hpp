// Measures several contestants in turns, so that changes of the machine's speed affect all of them alike.
#pragma once

#include <chrono>
#include <functional>
#include <vector>

#include "contestant.hpp"
#include "measurement.hpp"

namespace dqbench {

using clock = std::chrono::steady_clock;

inline double milliseconds_since(clock::time_point start) {
    return std::chrono::duration<double, std::milli>(clock::now() - start).count();
}

template <typename F>
double milliseconds_of(F &&f) {
    const auto start = clock::now();
    f();
    return milliseconds_since(start);
}

/// Adds the seconds that f takes to a total, and returns f's result.
template <typename F>
decltype(auto) timed(double &total, F &&f) {
    struct stopwatch {
        double &total;
        clock::time_point start = clock::now();
        ~stopwatch() { total += milliseconds_since(start) / 1e3; }
    };
    const stopwatch running {total};
    return f();
}

/// Warms up each contestant, then runs all of them in rounds until the limit. A sample of a short contestant is many
/// calls, so that reading the clock does not count; it is one call if the number of rounds is fixed or before_each is
/// set.
std::vector<timing> measure(const std::vector<contestant *> &contestants, const measuring &limits,
        const std::function<void()> &before_each = {});

/// Statistics of the samples. Precondition: there is at least one.
timing summarize(std::vector<double> samples);

} // namespace dqbench

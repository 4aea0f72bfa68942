// Measuring several contestants in one run, in turns, so that all of them see the same machine.
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

/// Adds the seconds that f takes to a total, and gives what f gives.
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

/// Runs each contestant once to warm up, then all of them in rounds until the limit. In a round a short contestant
/// runs many times, so that reading the clock does not count, unless the number of rounds is fixed or something is
/// to happen before each time.
std::vector<timing> measure(const std::vector<contestant *> &contestants, const measuring &limits,
        const std::function<void()> &before_each = {});

/// Of a list that is not empty.
timing summarize(std::vector<double> samples);

} // namespace dqbench

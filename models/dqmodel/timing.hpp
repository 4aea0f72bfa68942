// Timing.
#pragma once

#include <algorithm>
#include <chrono>
#include <vector>

namespace dqmodel {

struct times {
    double median, least; // microseconds
};

/// Precondition: repeat >= 1.
template <typename Run>
times times_of(int repeat, const Run &run) {
    std::vector<double> all(static_cast<std::size_t>(repeat));
    for (auto &time : all) {
        const auto start = std::chrono::steady_clock::now();
        run();
        time = std::chrono::duration<double, std::micro>(std::chrono::steady_clock::now() - start).count();
    }
    std::sort(all.begin(), all.end());
    return {all[all.size() / 2], all.front()};
}

} // namespace dqmodel

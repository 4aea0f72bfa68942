// Times one op of the graph, through dynquant's or oneDNN's API.
#pragma once

#include <algorithm>
#include <chrono>
#include <string>
#include <vector>

#include "round_trip.hpp"

namespace example {

/// The median time of many runs, or the stage and the reason of a refusal.
struct measurement {
    double seconds = 0;
    std::string kernel; // dynquant's; empty for oneDNN
    std::string refusal;
};

template <typename F>
double median_seconds(F f) {
    using clock = std::chrono::steady_clock;
    constexpr std::chrono::duration<double> budget(0.3);
    constexpr std::size_t least = 5, most = 1001;
    f(); // warms the caches
    std::vector<double> times;
    const auto start = clock::now();
    while (times.size() < least || (times.size() < most && clock::now() - start < budget)) {
        const auto begin = clock::now();
        f();
        times.push_back(std::chrono::duration<double>(clock::now() - begin).count());
    }
    const auto middle = times.begin() + std::ssize(times) / 2;
    std::nth_element(times.begin(), middle, times.end());
    return *middle;
}

template <typename Api>
measurement measure(const statement &s, const buffers &memory, op_id op) {
    measurement result;
    const char *stage = "add_op";
    try {
        round_trip<Api> graph(s, memory);
        stage = "compile";
        graph.compile(op);
        result.kernel = graph.kernel(op);
        stage = "execute";
        result.seconds = median_seconds([&] { graph.execute(op); });
    } catch (const dnnl::error &e) {
        result.refusal = std::string("refused at ") + stage + ": " + e.what();
    }
    return result;
}

} // namespace example

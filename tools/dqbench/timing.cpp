#include "timing.hpp"

#include <algorithm>
#include <numeric>

namespace dqbench {
namespace {

constexpr double shortest_sample_ms = 0.05; // reading the clock twice takes a thousandth of it
constexpr std::int64_t fewest_rounds = 5;

struct lane {
    const std::function<void()> &run;
    std::int64_t calls = 1; // per sample
    std::vector<double> samples = {};

    void sample() {
        const double ms = milliseconds_of([&] {
            for (std::int64_t i = 0; i < calls; ++i)
                run();
        });
        samples.push_back(ms / static_cast<double>(calls));
    }
};

std::int64_t calls_per_sample(const std::function<void()> &run) {
    run(); // the first one touches memory for the first time
    const double ms = milliseconds_of(run);
    return static_cast<std::int64_t>(std::clamp(shortest_sample_ms / std::max(ms, 1e-6), 1.0, 1e4));
}

} // namespace

std::vector<timing> measure(const std::vector<std::function<void()>> &contestants, const measuring &limits) {
    std::vector<lane> lanes;
    for (const auto &run : contestants) {
        lanes.push_back({run});
        const auto calls = calls_per_sample(run);
        if (limits.times == 0) lanes.back().calls = calls;
    }
    const auto start = clock::now();
    const auto goes_on = [&](std::int64_t round) {
        if (limits.times > 0) return round < limits.times;
        return round < fewest_rounds || milliseconds_since(start) < limits.milliseconds;
    };
    for (std::int64_t round = 0; goes_on(round); ++round)
        for (auto &each : lanes)
            each.sample();

    std::vector<timing> result;
    for (auto &each : lanes)
        result.push_back(summarize(std::move(each.samples)));
    return result;
}

timing summarize(std::vector<double> samples) {
    std::sort(samples.begin(), samples.end());
    const auto n = samples.size();
    const double sum = std::accumulate(samples.begin(), samples.end(), 0.0);
    return {samples.front(), (samples[(n - 1) / 2] + samples[n / 2]) / 2, sum / static_cast<double>(n), samples.back()};
}

} // namespace dqbench

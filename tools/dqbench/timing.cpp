#include "timing.hpp"

#include <algorithm>
#include <numeric>

namespace dqbench {
namespace {

constexpr double min_sample_ms = 0.05; // reading the clock twice takes a thousandth of this
constexpr std::int64_t min_rounds = 5;

struct sampler {
    contestant &who;
    std::int64_t calls = 1; // per sample
    std::vector<double> samples = {};

    void sample() {
        const double ms = milliseconds_of([&] {
            for (std::int64_t i = 0; i < calls; ++i)
                who.execute();
        });
        samples.push_back(ms / static_cast<double>(calls));
    }
};

std::int64_t calls_per_sample(contestant &who) {
    who.execute(); // the first call faults in pages
    const double ms = milliseconds_of([&] { who.execute(); });
    who.park_threads();
    return static_cast<std::int64_t>(std::clamp(min_sample_ms / std::max(ms, 1e-6), 1.0, 1e4));
}

/// The quantile of sorted samples, interpolated linearly.
double quantile(const std::vector<double> &sorted, double share) {
    const double at = share * static_cast<double>(sorted.size() - 1);
    const auto below = static_cast<std::size_t>(at);
    const auto above = std::min(below + 1, sorted.size() - 1);
    return sorted[below] + (sorted[above] - sorted[below]) * (at - static_cast<double>(below));
}

} // namespace

std::vector<timing> measure(const std::vector<contestant *> &contestants, const measuring &limits,
        const std::function<void()> &before_each) {
    std::vector<sampler> samplers;
    for (auto *who : contestants) {
        samplers.push_back({*who});
        const auto calls = calls_per_sample(*who);
        if (limits.times == 0 && !before_each) samplers.back().calls = calls;
    }
    const auto start = clock::now();
    const auto has_next_round = [&](std::int64_t round) {
        if (limits.times > 0) return round < limits.times;
        return round < min_rounds || milliseconds_since(start) < limits.milliseconds;
    };
    for (std::int64_t round = 0; has_next_round(round); ++round)
        for (auto &each : samplers) {
            if (before_each)
                before_each();
            else
                each.who.execute(); // warms the caches, which hold the buffers of the contestant before
            each.sample();
            each.who.park_threads();
        }

    std::vector<timing> result;
    for (auto &each : samplers)
        result.push_back(summarize(std::move(each.samples)));
    return result;
}

timing summarize(std::vector<double> samples) {
    std::sort(samples.begin(), samples.end());
    const double sum = std::accumulate(samples.begin(), samples.end(), 0.0);
    std::optional<double> range;
    if (samples.size() > 1) range = quantile(samples, 0.75) - quantile(samples, 0.25);
    return {samples.front(), quantile(samples, 0.5), sum / static_cast<double>(samples.size()), samples.back(), range};
}

} // namespace dqbench

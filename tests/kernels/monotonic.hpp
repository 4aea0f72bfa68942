// The expected results of many values in order.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <numeric>
#include <vector>

namespace dynquant::test {

/// f(0), ..., f(count - 1), which only rise or only fall. All between two equal ones are equal, so f, which takes
/// longer than the kernels, is called only around the steps.
template <typename F>
std::vector<std::uint8_t> monotonic_results(std::size_t count, const F &f) {
    std::vector<std::uint8_t> results(count);
    const auto fill = [&](const auto &fill_part, std::size_t first, std::size_t last) -> void {
        if (results[first] == results[last]) {
            std::fill_n(&results[first], last - first, results[first]);
        } else if (last - first > 1) {
            const auto middle = std::midpoint(first, last);
            results[middle] = f(middle);
            fill_part(fill_part, first, middle);
            fill_part(fill_part, middle, last);
        }
    };
    results.front() = f(0);
    results.back() = f(count - 1);
    fill(fill, 0, count - 1);
    return results;
}

} // namespace dynquant::test

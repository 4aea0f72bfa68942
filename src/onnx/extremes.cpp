#include "onnx/extremes.hpp"

#include <algorithm>
#include <atomic>
#include <cmath>
#include <limits>

#include "parallel/float_control.hpp"
#include "parallel/parallel.hpp"

namespace dynquant::onnx {
namespace {

/// Merges the results of parts on several threads. Minimum and maximum do not depend on the order.
class shared_extremes {
  public:
    void add(const extremes &part) {
        extend(low_, part.low, [](float a, float b) { return a < b; });
        extend(high_, part.high, [](float a, float b) { return a > b; });
        if (part.nan) nan_.store(true, std::memory_order_relaxed);
    }
    extremes value() const { return {low_, high_, nan_}; }

  private:
    template <typename Beyond>
    static void extend(std::atomic<float> &bound, float value, Beyond beyond) {
        auto before = bound.load(std::memory_order_relaxed);
        while (beyond(value, before) && !bound.compare_exchange_weak(before, value, std::memory_order_relaxed)) {
        }
    }

    std::atomic<float> low_ = 0, high_ = 0;
    std::atomic<bool> nan_ = false;
};

/// Not inlined, so that the arithmetic stays within float_control.
[[gnu::noinline]] dynamic_parameters parameters_from(const extremes &found) {
    if (found.nan) return {std::numeric_limits<float>::quiet_NaN(), 0};
    const float scale = (found.high - found.low) / 255.0F;
    const float initial = 0.0F - found.low / scale;
    if (!(initial > 0)) return {scale, 0}; // NaN too: 0 / 0 and infinity / infinity
    return {scale, static_cast<std::uint8_t>(std::nearbyint(std::min(initial, 255.0F)))};
}

} // namespace

extremes_function extremes_function_for(isa value) {
#if defined(__x86_64__)
    if (value >= isa::avx512) return avx512_extremes;
    if (value >= isa::avx2) return avx2_extremes;
#endif
    return scalar_extremes;
}

extremes find_extremes(extremes_function function, const float *x, std::int64_t count, int threads) {
    shared_extremes result;
    parallel::for_each_part(count, parallel::parts_for(count, threads),
            [&](parallel::range part) { result.add(function(x + part.begin, part.end - part.begin)); });
    return result.value();
}

dynamic_parameters compute_parameters(const extremes &found) {
    const parallel::float_control control;
    return parameters_from(found);
}

} // namespace dynquant::onnx

#include "onnx/extremes.hpp"

#include <atomic>

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

} // namespace

extremes_function extremes_function_for(isa value) {
#if defined(__x86_64__)
    if (value == isa::avx512) return avx512_extremes;
    if (value == isa::avx2) return avx2_extremes;
#endif
    return scalar_extremes;
}

extremes find_extremes(extremes_function function, const float *x, std::int64_t count, int threads) {
    shared_extremes result;
    parallel::for_each_part(count, parallel::parts_for(count, threads),
            [&](parallel::range part) { result.add(function(x + part.begin, part.end - part.begin)); });
    return result.value();
}

} // namespace dynquant::onnx

// The algorithm of extremes.hpp, written once over the primitives of an instruction set:
//     width        values in a vector
//     vector       so many of them
//     unordered    whether any was NaN, so far
//     load(x)      x[0] to x[width - 1]
//     least(x, m)  x < m ? x : m, so NaN leaves m, and so does -0 beside 0; greatest likewise
//     note(u, a, b), any(u): notes whether a or b has a NaN; whether one was noted
#pragma once

#include "onnx/extremes.hpp"

namespace dynquant::onnx {
namespace {

template <typename Isa>
extremes extremes_of_few(const float *x, std::int64_t count) {
    extremes result;
    for (std::int64_t i = 0; i < count; ++i) {
        result.low = x[i] < result.low ? x[i] : result.low;
        result.high = x[i] > result.high ? x[i] : result.high;
        result.nan |= x[i] != x[i];
    }
    return result;
}

/// Several vectors at once, as each instruction waits for the result of the one before it on its vector.
template <typename Isa>
struct accumulators {
    static constexpr int count = 4;
    typename Isa::vector low[count] = {}, high[count] = {};
    typename Isa::unordered nan = {};

    void add(const float *x) {
        typename Isa::vector v[count];
        for (int i = 0; i < count; ++i)
            v[i] = Isa::load(x + i * Isa::width);
        for (int i = 0; i < count; ++i) {
            low[i] = Isa::least(v[i], low[i]);
            high[i] = Isa::greatest(v[i], high[i]);
        }
        for (int i = 0; i < count; i += 2)
            nan = Isa::note(nan, v[i], v[i + 1]);
    }

    extremes all() const {
        float values[2 * count * Isa::width];
        for (int i = 0; i < count; ++i) {
            Isa::store(values + 2 * i * Isa::width, low[i]);
            Isa::store(values + (2 * i + 1) * Isa::width, high[i]);
        }
        auto result = extremes_of_few<Isa>(values, 2 * count * Isa::width);
        result.nan = Isa::any(nan);
        return result;
    }
};

template <typename Isa>
extremes extremes_of(const float *x, std::int64_t count) {
    constexpr std::int64_t step = accumulators<Isa>::count * Isa::width;
    if (count < step) return extremes_of_few<Isa>(x, count);
    accumulators<Isa> all;
    for (std::int64_t i = 0; i + step <= count; i += step)
        all.add(x + i);
    all.add(x + count - step); // some of them once more, which changes nothing
    return all.all();
}

} // namespace
} // namespace dynquant::onnx

// The algorithm of extremes.hpp, written once over the primitives of an instruction set:
//     width              values in a vector
//     vector             `width` floats
//     load(x)            x[0] to x[width - 1]
//     min(x, m)          x < m ? x : m, so m stays where x is NaN, or -0 and m is 0
//     max(x, m)          x > m ? x : m
//     unordered          accumulates whether there was a NaN
//     mark_nan(u, a, b)  u, marked if a or b has a NaN
//     any(u)             whether u is marked
#pragma once

#include <cstring>

#include "onnx/extremes.hpp"

namespace dynquant::onnx {
namespace {

/// Primitives that do not depend on the instruction set. Compilers make one instruction of each.
template <int Bytes>
struct vectors {
    static constexpr int width = Bytes / sizeof(float);
    using vector [[gnu::vector_size(Bytes)]] = float;
    static vector load(const float *x) {
        vector v;
        std::memcpy(&v, x, sizeof v);
        return v;
    }
    static vector min(vector x, vector m) { return x < m ? x : m; }
    static vector max(vector x, vector m) { return x > m ? x : m; }
};

template <typename Isa>
extremes extremes_by_element(const float *x, std::int64_t count) {
    extremes result;
    for (std::int64_t i = 0; i < count; ++i) {
        result.low = x[i] < result.low ? x[i] : result.low;
        result.high = x[i] > result.high ? x[i] : result.high;
        result.nan |= x[i] != x[i];
    }
    return result;
}

template <typename Isa>
struct bounds {
    typename Isa::vector low = {}, high = {};

    void add(typename Isa::vector x) {
        low = Isa::min(x, low);
        high = Isa::max(x, high);
    }
    void add(const bounds &other) {
        low = Isa::min(other.low, low);
        high = Isa::max(other.high, high);
    }
};

/// Four independent accumulators, which hide the latency of the minimum and maximum instructions.
template <typename Isa>
struct accumulators {
    static constexpr int values = 4 * Isa::width;
    bounds<Isa> a, b, c, d; // no array: g++ would keep it in memory
    typename Isa::unordered nan = {};

    void add(const float *x) {
        const auto va = Isa::load(x), vb = Isa::load(x + Isa::width);
        const auto vc = Isa::load(x + 2 * Isa::width), vd = Isa::load(x + 3 * Isa::width);
        a.add(va), b.add(vb), c.add(vc), d.add(vd);
        nan = Isa::mark_nan(Isa::mark_nan(nan, va, vb), vc, vd);
    }

    extremes reduce() {
        a.add(b), c.add(d), a.add(c);
        float lanes[2 * Isa::width];
        std::memcpy(lanes, &a.low, sizeof a.low);
        std::memcpy(lanes + Isa::width, &a.high, sizeof a.high);
        auto result = extremes_by_element<Isa>(lanes, 2 * Isa::width);
        result.nan = Isa::any(nan);
        return result;
    }
};

template <typename Isa>
extremes extremes_of(const float *x, std::int64_t count) {
    constexpr std::int64_t step = accumulators<Isa>::values;
    if (count < step) return extremes_by_element<Isa>(x, count);
    accumulators<Isa> all;
    for (std::int64_t i = 0; i + step <= count; i += step)
        all.add(x + i);
    all.add(x + count - step); // the remainder: reading values twice changes nothing
    return all.reduce();
}

} // namespace
} // namespace dynquant::onnx

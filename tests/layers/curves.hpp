// The curves of post-ops, which are polynomials, next to f64.
#pragma once

#include <algorithm>
#include <cmath>
#include <vector>

#include "layers/epilogue/epilogue.hpp"
#include "parallel/float_control.hpp"

namespace dynquant::layers {

struct curve {
    post_op_kind what;
    double (*right)(double);
    double bound; // of the error of all floats, the largest error rounded up to four decimals
    float worst;  // where the error is largest
};

inline const curve curves[] = {{post_op_kind::erf, [](double x) { return std::erf(x); }, 1.0013, 1.19978797F},
        {post_op_kind::tanh, [](double x) { return std::tanh(x); }, 1.2134, 0.633705437F},
        {post_op_kind::sigmoid, [](double x) { return 1 / (1 + std::exp(-x)); }, 1.9991, -3.44991800e-4F}};

/// A curve of floats, by the loops of an instruction set.
inline std::vector<float> curve_of(post_op_kind what, const std::vector<float> &x, const epilogue_loops &loops) {
    std::vector<float> y(x.size());
    const std::vector<post_op_view> steps {{what}};
    const auto count = static_cast<std::int64_t>(x.size());
    const parallel::float_control control;
    loops.rows({steps}, {x.data(), true, count, y.data(), count, 1}, {0, 1}, {0, count});
    return y;
}

/// Returns an error in units in the last place of the exact value; subnormal ones have 2^-149.
inline double error_of(float given, double right) {
    constexpr int least = -149;
    int exponent = 0;
    std::frexp(right, &exponent);
    const int unit = right == 0 ? least : std::max(exponent - 24, least);
    return std::abs(static_cast<double>(given) - right) / std::ldexp(1.0, unit);
}

} // namespace dynquant::layers

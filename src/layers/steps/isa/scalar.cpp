#include <bit>
#include <cmath>

#include "layers/steps/isa/float_steps_of.hpp"

namespace dynquant::layers {
namespace {

/// Plain loops over arrays.
struct scalar {
    static constexpr std::int64_t lanes = 8;
    using mask = std::int64_t;
    template <typename T>
    struct array {
        T lane[lanes];
    };
    using vector = array<float>;
    using integers = array<std::int32_t>;

    template <typename T, typename F>
    static array<T> make(F f) {
        array<T> result;
        for (std::int64_t i = 0; i < lanes; ++i)
            result.lane[i] = f(i);
        return result;
    }

    static mask mask_of(std::int64_t count) { return count; }
    static vector load(const float *p, mask m) {
        return make<float>([=](std::int64_t i) { return i < m ? p[i] : 0.0F; });
    }
    static integers load_sums(const std::int32_t *p, mask m) {
        return make<std::int32_t>([=](std::int64_t i) { return i < m ? p[i] : 0; });
    }
    static void store(float *p, mask m, const vector &v) { std::copy_n(v.lane, m, p); }

    static void store_bytes(std::byte *p, mask m, const vector &v) {
        std::transform(v.lane, v.lane + m, p, [](float x) { return static_cast<std::byte>(static_cast<int>(x)); });
    }

    static integers add(const integers &a, const integers &b) {
        return make<std::int32_t>([&](std::int64_t i) {
            return static_cast<std::int32_t>(
                    static_cast<std::uint32_t>(a.lane[i]) + static_cast<std::uint32_t>(b.lane[i]));
        });
    }
    static vector to_float(const integers &a) {
        return make<float>([&](std::int64_t i) { return static_cast<float>(a.lane[i]); });
    }
    static vector as_float(const integers &a) { return std::bit_cast<vector>(a); }

    static vector broadcast(float x) {
        return make<float>([=](std::int64_t) { return x; });
    }
    static vector multiply(const vector &x, const vector &a) {
        return make<float>([&](std::int64_t i) { return x.lane[i] * a.lane[i]; });
    }
    static vector divide(const vector &x, const vector &a) {
        return make<float>([&](std::int64_t i) { return x.lane[i] / a.lane[i]; });
    }
    static vector add(const vector &x, const vector &a) {
        return make<float>([&](std::int64_t i) { return x.lane[i] + a.lane[i]; });
    }
    static vector clip(const vector &x, const vector &a, const vector &b) {
        return make<float>([&](std::int64_t i) {
            const auto above = x.lane[i] < a.lane[i] ? a.lane[i] : x.lane[i];
            return above > b.lane[i] ? b.lane[i] : above;
        });
    }
    static vector saturate(const vector &x, const vector &a, const vector &b) {
        return make<float>([&](std::int64_t i) {
            const auto above = x.lane[i] > a.lane[i] ? x.lane[i] : a.lane[i];
            return above < b.lane[i] ? above : b.lane[i];
        });
    }
    static vector round(const vector &x) {
        return make<float>([&](std::int64_t i) { return std::nearbyint(x.lane[i]); });
    }
    static vector leaky_relu(const vector &x, const vector &a) {
        return make<float>([&](std::int64_t i) { return x.lane[i] < 0 ? x.lane[i] * a.lane[i] : x.lane[i]; });
    }
    static void transpose(vector (&x)[lanes]) {
        for (std::int64_t i = 0; i < lanes; ++i)
            for (std::int64_t j = 0; j < i; ++j)
                std::swap(x[i].lane[j], x[j].lane[i]);
    }
};

} // namespace

constinit const float_steps_function scalar_float_steps = float_steps<scalar>;

} // namespace dynquant::layers

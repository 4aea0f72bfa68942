// src/layers: the integer arithmetic of quantized models. A layer is an int8 product or convolution with exact s32
// sums; then these are rescaled to 8 bits (layer_rescale) or become floats that pass some operators (steps/). May
// include: dynquant's public headers, parallel, quantization, and of layers/onednn only onednn.hpp. isa/ has the loops
// of products, depthwise/ those of depthwise convolutions, lookup/ tables of 256 bytes, onednn/ all calls of oneDNN.
// Models on disk (models/model) use integer_product and make_convolution(), which prefer oneDNN; layer.hpp uses
// pack_convolution(), which needs none and packs weights for all shapes. Start here, then integer_convolution.hpp.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <vector>

#include "layers/steps/steps.hpp"
#include "parallel/parallel.hpp"
#include "parallel/pool.hpp"

namespace dynquant::layers {

/// Computes the s32 sums of x times weights less their zero points, channels last. The zero point of x is not
/// subtracted: the caller adds zero_point_bias(), of zero_points.hpp. Immutable.
class integer_sums {
  public:
    integer_sums() = default;
    integer_sums(const integer_sums &) = delete;
    integer_sums &operator=(const integer_sums &) = delete;
    virtual ~integer_sums() = default;

    /// For each channel the sum of its weights less their zero points, modulo 2^32.
    virtual const std::vector<std::int32_t> &weight_sums() const = 0;
    virtual std::size_t scratch_bytes() const = 0;
    /// Pads x with its zero point. Thread-safe; each call needs its own y and scratch.
    virtual void run(const void *x, std::int32_t x_zero_point, std::int32_t *y, std::byte *scratch) const = 0;
};

/// The memory of a run, which the caller keeps: it serves any layer, and only grows. Each run at a time needs its own.
struct run_memory {
    /// Of one part of a run.
    struct part {
        std::vector<std::byte> rows, padding;
        std::vector<const std::byte *> lines, meets, taps;
        std::vector<std::int32_t> sums;
    };
    std::vector<part> parts;
    std::vector<std::byte> x; // as the sums take it
    std::vector<std::int32_t> bias;
    std::vector<float> factors;
    std::vector<float_step> steps;
    std::vector<std::int32_t> sums; // of a whole run
    std::vector<std::byte> scratch;

    template <typename T>
    static T *grown(std::vector<T> &to, std::size_t count) {
        if (to.size() < count) to.resize(count);
        return to.data();
    }
    /// Before parts run, which must not throw.
    void make_parts(int count) { grown(parts, static_cast<std::size_t>(count)); }
};

/// A function that takes the sums of some positions, numbered through all images. It refers to the caller's function:
/// std::function would allocate for one that captures much.
class block_consumer {
  public:
    template <typename Function>
    block_consumer(const Function &function)
        : function_(&function)
        , call_([](const void *f, parallel::range positions, const std::int32_t *sums) {
            (*static_cast<const Function *>(f))(positions, sums);
        }) {}

    void operator()(parallel::range positions, const std::int32_t *sums) const { call_(function_, positions, sums); }

  private:
    const void *function_;
    void (*call_)(const void *, parallel::range, const std::int32_t *);
};

/// Sums that come block by block, while they are in the second-level cache.
class block_sums : public integer_sums {
  public:
    /// Calls the consumer for each block of positions, from several threads. Pads x with its zero point. Thread-safe.
    virtual void run_blocks(
            const void *x, std::int32_t x_zero_point, run_memory &memory, block_consumer consume) const = 0;

    std::size_t scratch_bytes() const override { return 0; }
    void run(const void *x, std::int32_t x_zero_point, std::int32_t *y, std::byte *) const override {
        auto memory = idle_.take([] { return std::make_unique<run_memory>(); });
        run_blocks(x, x_zero_point, *memory, [&](parallel::range positions, const std::int32_t *sums) {
            const auto channels = std::ssize(weight_sums());
            std::copy_n(sums, (positions.end - positions.begin) * channels, y + positions.begin * channels);
        });
        idle_.give_back(std::move(memory));
    }

  private:
    mutable parallel::object_pool<run_memory> idle_;
};

} // namespace dynquant::layers

// src/layers/conv: convolutions of bytes by constant weights of 8 bits, to s32 sums that come block by block. A product
// of matrices is a convolution of one tap. Three algorithms, which integer_convolution.cpp chooses from: im2col,
// depthwise/ and channels_first/. May include: layers/gemm and what that may. Start here.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <optional>
#include <span>
#include <vector>

#include "layers/gemm/aligned_vector.hpp"
#include "layers/gemm/panel_product.hpp"
#include "layers/gemm/zero_points.hpp"
#include "parallel/parallel.hpp"

namespace dynquant::layers {

/// What x was quantized to, with a scale and a zero point of uint8 for all of it, or for each row.
struct quantized_x {
    aligned_vector<std::byte> bytes;
    std::vector<float> scales;
    std::vector<std::uint8_t> computed; // the zero points, as the kernel writes them
    std::vector<std::int32_t> zero_points;
};

/// The memory of a run. The caller keeps it and uses it again for any layer; it only grows. Runs at the same time need
/// one each.
struct workspace {
    template <typename T, typename Memory>
    static T *ensure_size(std::vector<T, Memory> &to, std::size_t count) {
        if (to.size() < count) to.resize(count);
        return to.data();
    }

    /// The memory of one part of a run. Its fields hold, in im2col | depthwise/ | channels_first/:
    /// rows: copied windows | nothing | cells of x
    /// padding: a line of zero points | the same | lines of x with zero points at both ends
    /// lines: where each segment of the windows begins | the line of x of each line of taps | nothing
    /// tap_addresses: nothing | where each tap of the window lies in x | nothing
    /// taps: nothing | the same in the order of the weights | where the cells of each step lie, line by line of y
    /// sums: a block, then sums of rows of x | a block, then the initial sums of a line | a block, then the sums of x
    /// end: nothing | nothing | the end of x
    struct part {
        aligned_vector<std::byte> rows, padding;
        std::vector<const std::byte *> lines, tap_addresses, taps;
        aligned_vector<std::int32_t> sums;
        const std::byte *end = nullptr;       // of x
        std::optional<std::byte> padded_with; // each byte of `padding`, if it is known

        /// Is called before the part runs, which must not throw.
        void make_padding(std::int64_t bytes) {
            ensure_size(padding, static_cast<std::size_t>(bytes));
            padded_with.reset();
        }
        /// What make_padding() made, filled with the zero point of an image.
        const std::byte *pad(std::byte zero_point, std::int64_t bytes) {
            if (padded_with != zero_point) std::fill_n(padding.data(), bytes, zero_point);
            padded_with = zero_point;
            return padding.data();
        }
    };
    std::vector<part> parts;
    quantized_x x; // its bytes as the sums take them, or with heads that are to be joined
    aligned_vector<std::byte> joined;
    std::vector<std::int32_t> bias;
    std::vector<float> factors; // of a sums_ending

    /// Is called before parts run, which must not throw.
    void make_parts(int count) { ensure_size(parts, static_cast<std::size_t>(count)); }
};

/// The sums of some positions, numbered through all images, in some channels. Where `plane` is 0 they are channels
/// last: the channels of a position are adjacent. Else they are channels first and of one image: the positions of a
/// channel are adjacent, and channels lie `plane` sums apart.
struct accumulator_block {
    parallel::range positions;
    const std::int32_t *sums;
    std::int64_t first_channel, channels;
    std::int64_t plane = 0;
};

/// A function that takes a block. It refers to the caller's function: std::function would allocate for one that
/// captures much.
class block_consumer {
  public:
    template <typename Function>
    block_consumer(const Function &function)
        : function_(&function)
        , call_([](const void *f, const accumulator_block &block) { (*static_cast<const Function *>(f))(block); }) {}

    void operator()(const accumulator_block &block) const { call_(function_, block); }

  private:
    const void *function_;
    void (*call_)(const void *, const accumulator_block &);
};

/// Computes the s32 sums of x times weights less their zero points, block by block, while they are in the second-level
/// cache. The zero points of x are not subtracted: the caller adds fold_zero_point_into_bias(), of zero_points.hpp, or
/// the epilogue subtracts those of rows. Immutable.
class accumulator_source {
  public:
    accumulator_source() = default;
    accumulator_source(const accumulator_source &) = delete;
    accumulator_source &operator=(const accumulator_source &) = delete;
    virtual ~accumulator_source() = default;

    /// The sum of each channel's weights less their zero points, modulo 2^32.
    virtual const std::vector<std::int32_t> &weight_sums() const = 0;
    /// Whether x is channels first, else channels last.
    virtual bool takes_channels_first() const { return false; }
    /// Calls the consumer for each block, from several threads. Pads x with its zero point: one, or one for each image.
    /// Thread-safe.
    virtual void for_each_block(const void *x, std::span<const std::int32_t> x_zero_points, workspace &memory,
            block_consumer consume) const = 0;
    /// Whether there is write().
    virtual bool takes_endings() const { return false; }
    /// Writes all sums to y, channels last, as the ending says. Thread-safe.
    virtual void write(const void * /*x*/, std::span<const std::int32_t> /*x_zero_points*/, workspace & /*memory*/,
            const sums_ending & /*ending*/, std::int32_t * /*y*/) const {
        std::abort();
    }
};

} // namespace dynquant::layers

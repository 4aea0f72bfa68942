// src/layers/epilogue: what a layer makes of its sums: conversion to floats, then elementwise operators, normalization
// of rows, and tables of bytes (lookup/). May include: dynquant/quantization.hpp, elements, parallel, quantization,
// targets. Start here.
#pragma once

#include <cstdint>
#include <numeric>
#include <span>

#include "parallel/parallel.hpp"
#include "targets/features.hpp"

namespace dynquant::layers {

/// v is the value that the post-ops before gave, x the layer's input.
enum class post_op_kind {
    multiply,       // v * a
    scale,          // v * (x's scale at the position * a)
    divide,         // v / a
    add,            // v + a
    add_tensor,     // v + the element of the epilogue's tensor where v goes in y
    clip,           // v < a ? a : v, then v > b ? b : v: NaN stays
    saturate,       // the same, but NaN becomes a
    round,          // to the nearest integer, ties to even
    leaky_relu,     // v < 0 ? v * a : v
    erf,            // the error function by isa/erf.hpp
    tanh,           // the hyperbolic tangent by isa/sigmoid.hpp
    sigmoid,        // 1 / (1 + exp(-v)), likewise
    save,           // keeps v, in place of what was kept
    add_saved,      // v + the value that was saved
    multiply_saved, // v * (the value that was saved * a, which is one)
    look_up,        // the table's element at the bits of v as float16
};

/// One operator of ONNX in f32, rounded to nearest even. Its parameters are the caller's: one for all channels, or one
/// for each, but the bounds of clip and saturate, which are one.
struct post_op_view {
    post_op_kind what;
    std::span<const float> a = {}, b = {};    // b: of clip and saturate
    std::span<const std::uint8_t> table = {}; // of look_up: 65536 results
};

/// What the sums become. s32: the sums with their bias; there are no post-ops. bytes: floats that the post-ops made
/// integers of -128 to 255, of which the low byte is kept.
enum class result_type { f32, s32, bytes };

/// What sums pass: their bias, the conversion to floats, and each post-op in turn. The bits are those of the operators
/// one by one, on every instruction set.
struct epilogue {
    std::span<const post_op_view> post_ops;
    result_type result = result_type::f32;
    const std::int32_t *bias = nullptr; // one for each channel, added to the sums, wrapping; null: none
    /// Position p has the scale x_scales[p * row_stride], which post_op_kind::scale takes, and the zero point
    /// x_zero_points[p * row_stride]. row_stride is 1 where each row of a product has its own, else 0.
    const float *x_scales = nullptr;
    const std::int32_t *x_zero_points = nullptr; // null: the bias has their terms
    const std::int32_t *weight_sums = nullptr;   // of each channel: times the zero point, subtracted from the sums
    std::int64_t row_stride = 0;
    /// Where row_stride rows of x pass as one position, whose channels are those of each row in turn: for every 16
    /// channels the first row that they are of, and for each channel how many rows behind that its own is, at most
    /// seven, null if all are none. Scales and zero points of seven rows behind the last one can be read.
    const std::int64_t *first_rows = nullptr;
    const std::int32_t *rows_behind = nullptr;

    /// So many positions of dense channels pass as one, with parameters that repeat, where the channels of one do not
    /// fill a tile of the loops; else 1.
    static constexpr std::int64_t positions_that_fill_tiles(std::int64_t channels) {
        constexpr std::int64_t tile = 64;
        return channels < tile ? tile / std::gcd(channels, tile) : 1;
    }
};

/// Sums that are channels last: the channels of a position, then those of the next one.
struct rows_of_sums {
    const void *sums; // s32, or f32 if are_floats, which have no bias and no zero points
    bool are_floats;
    std::int64_t channels;
    void *y; // where the element of the first position and channel 0 is, or would be by the strides
    std::int64_t position_stride, channel_stride; // of y, in elements; one of them is 1
    const float *tensor = nullptr;                // of add_tensor; it lies as y does, and shares no memory with it
};

/// Sums that are channels first, and so is y: the positions of a channel, a plane, are adjacent.
struct planes_of_sums {
    const void *sums; // as in rows_of_sums
    bool are_floats;
    std::int64_t sums_stride, first_channel, channels, positions; // sums_stride: from channel to channel
    void *y;
    std::int64_t y_stride;
    const float *tensor = nullptr; // as in rows_of_sums
};

/// LayerNormalization along the channels: (x - mean) / sqrt(variance + epsilon) * scale + bias, where the variance is
/// the mean of the squared differences. RMSNormalization is the same with a mean of 0. isa/normalize.hpp has the order
/// of the sums and the error.
struct normalization_view {
    bool has_mean;
    float epsilon;
    const float *scale, *bias; // one for each channel; no bias where it is null
};

/// One for each instruction set.
struct epilogue_loops {
    void (*rows)(const epilogue &by, const rows_of_sums &of, parallel::range positions, parallel::range channels);
    void (*planes)(const epilogue &by, const planes_of_sums &of);
    /// x, y: positions of channels, dense; y may be x.
    void (*normalize)(
            const normalization_view &by, const float *x, float *y, std::int64_t positions, std::int64_t channels);
};
extern const targets::candidate<const epilogue_loops *> epilogue_table[];

} // namespace dynquant::layers

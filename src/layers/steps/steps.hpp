// The steps of a dynamically quantized layer behind its sums: conversion to floats, then elementwise operators.
#pragma once

#include <cstdint>
#include <span>

#include "targets/features.hpp"

namespace dynquant::layers {

/// One operator of ONNX in f32, rounded to nearest even. Its parameters are the caller's: one for all channels, or one
/// for each, but the bounds of clip and saturate, which are one.
struct float_step {
    enum class kind {
        multiply,       // x * a
        scale,          // x * (the scale of x at the position * a)
        divide,         // x / a
        add,            // x + a
        clip,           // x < a ? a : x, then x > b ? b : x: NaN stays
        saturate,       // the same, but NaN becomes a
        round,          // to the nearest integer, ties to even
        leaky_relu,     // x < 0 ? x * a : x
        save,           // keeps x for the next multiply_saved
        multiply_saved, // x * the value that was saved, once
        look_up,        // the table's element at the bits of x as float16
    };
    kind what;
    std::span<const float> a = {}, b = {};    // b: of clip and saturate
    std::span<const std::uint8_t> table = {}; // of look_up: 65536 results
};

/// What the sums become. s32: the sums with their bias; there are no steps. bytes: floats that the steps made integers
/// of -128 to 255, of which the low byte is kept.
enum class step_result { f32, s32, bytes };

/// Sums of s32, channels last, to floats: converted, then each step in turn. The bits are those of the operators one
/// by one, on every instruction set.
struct float_steps_call {
    const std::int32_t *sums;
    std::int64_t channels;
    const std::int32_t *bias; // one for each channel, added to the sums, wrapping; null: none
    std::span<const float_step> steps;
    void *y;
    std::int64_t position_stride, channel_stride; // of y, in elements; one of them is 1
    step_result result = step_result::f32;
    /// Not 0: sums and y are channels first. From channel to channel there are so many sums; `channels` then counts the
    /// positions of a channel, and the first one has the parameters of first_channel.
    std::int64_t plane = 0, first_channel = 0;
    /// What x was quantized by: the scale, of `scale`, and the zero point of position p are elements p * row_stride.
    const float *x_scales = nullptr;
    const std::int32_t *x_zero_points = nullptr; // null: the bias has their terms
    const std::int32_t *weight_sums = nullptr;   // of each channel: times the zero point, subtracted from the sums
    std::int64_t row_stride = 0;
    bool of_floats = false; // what `sums` points to are floats; there is no bias
};

/// Computes positions [begin, end), or channels where there is a plane. One for each instruction set.
using float_steps_function = void (*)(const float_steps_call &call, std::int64_t begin, std::int64_t end);
extern const targets::candidate<const float_steps_function *> float_steps_table[];

float_steps_function float_steps_function_for(targets::features available);

} // namespace dynquant::layers

// What the row algorithms are given, and what they give back to the kernel. Included by code compiled for
// one instruction set: plain types only (see quantization/canonical.hpp).
#pragma once

#include <cstdint>

#include "quantization/canonical.hpp"

namespace dynquant::kernels::native {

/// Prepared parameters lie in tables of so many columns.
constexpr std::int64_t table_capacity = 1024;

/// The widest block of columns, which a partial one reads to its end.
constexpr std::int64_t widest_block = 64;

/// A tile of a permuted layout has so many elements where src and dst are narrow, a cache line of bytes, and so many
/// on the side that is computed: no more, since its lines lie on the stack, of which a run takes 48 KB at most.
constexpr std::int64_t tile_side = 64, tile_length = 256;

/// The canonical form as the row algorithms walk it: short rows joined to long ones where they are dense.
struct layout {
    enum class kind {
        uniform,   // dense rows under one parameter each
        alongside, // parameters along the row, or strides
        tiled,     // src is dense along the innermost loop, dst along the row
    };

    kind rows = kind::uniform;
    canonical_form form = {};
    /// Alongside: parameter i serves columns i * repeat to (i + 1) * repeat ...
    std::int64_t repeat = 1;
    /// ... and after so many parameters the first is next; 0 when there are as many as the row needs.
    std::int64_t period = 0;
    /// column / repeat, for as many columns as a table has after the first `repeat`.
    std::int32_t parameter_of[table_capacity + 2 * widest_block] = {};
};

layout layout_of(const canonical_form &form);

/// The same for rows that are converted on the way: all rows are joined that share a stretch of columns, groups of 32
/// and more among them. Only elements of up to 8 bits may be turned, from src to dst.
layout converted_layout_of(const canonical_form &form, bool may_turn);

/// f16 and bf16 as they lie in memory.
struct half {
    std::uint16_t bits;
};
struct brain {
    std::uint16_t bits;
};

/// Scales, or zero points, as they lie in memory; null where there are none.
struct parameters_view {
    data_type type = data_type::f32;
    const void *data = nullptr;
};

/// One call: the shape and the buffers.
struct call {
    const layout *shape;
    const void *src;
    parameters_view scales, zero_points;
    void *dst;
    bool streaming; // whether results go past the caches
    /// Of rows that are converted; the others have a function for their types.
    data_type src_type = data_type::f32, dst_type = data_type::f32;
    bool saturate = false; // results that are floats of at least 8 bits
    /// Of requantizing, whose biases are the zero points; null where there are none.
    const float *second_scales = nullptr;
    precision division = precision::f32; // to which src and scales are rounded
};

/// How numbers from one power of two to the next are rounded to a float type of 8 bits and fewer: by adding a float,
/// the unit, whose last bit is worth as much as the type's. That sum as an integer, less a base, is the code.
struct narrow_units {
    float least_normal, to_unit;  // from a power of two, at least this one, to the unit
    std::int32_t dropped, offset; // bits of the fraction; the base is unit - (unit >> dropped) + offset
    float unit[32];               // of the power whose exponent ends in these five bits
    std::int32_t base[32];
};

/// How magnitudes and signs become codes of such a type.
struct narrow_format {
    float bound; // what lies beyond becomes this
    const narrow_units *units;
    std::uint8_t nan;     // what codes beyond 8 bits become
    std::int8_t signless; // codes up to this one have no sign, as bytes with one, nor those beyond 8 bits
    int sign_shift;       // from the highest bit of a byte
};

/// Rows [row_begin, row_end) by columns [column_begin, column_end) of the layout's form.
struct rectangle {
    std::int64_t row_begin, row_end, column_begin, column_end;
};

using row_function = void (*)(const call &, const rectangle &);

/// To s8, with Relu too, and to u8.
struct requantizing_functions {
    row_function to_s8, to_s8_relu, to_u8;
};

/// By one scale and by two. They are compiled apart from the others.
struct requantize_row_functions {
    requantizing_functions once, twice;
};

/// Those of numerics::onnx to integers, where zero points are added to rounded quotients, from and to all types. They
/// are compiled apart from the others, as that takes as long.
struct onnx_row_functions {
    row_function divided_in_f32, divided_in_f16, divided_in_bf16;
};

/// The row algorithms of one instruction set.
struct row_functions {
    row_function quantize_strict_s8, quantize_strict_u8;
    row_function quantize_any_s8, quantize_any_u8;
    row_function quantize_onnx_s8, quantize_onnx_u8;
    row_function dequantize_s8, dequantize_u8;
    /// All types that are not f32, s8 and u8, and all scales that are not f32.
    row_function quantize_converted, dequantize_converted;
    row_function quantize_floats; // to them
    const requantize_row_functions *requantize;
    const onnx_row_functions *onnx;
};

extern const row_functions scalar_rows;
extern const requantize_row_functions scalar_requantize_rows;
extern const onnx_row_functions scalar_onnx_rows;
#if defined(__x86_64__)
extern const row_functions avx2_rows, avx512_rows;
extern const requantize_row_functions avx2_requantize_rows, avx512_requantize_rows;
extern const onnx_row_functions avx2_onnx_rows, avx512_onnx_rows;
/// Beyond isa::avx512, in place of its own; null where the compiler has no AVX512-FP16.
extern const row_function avx512_fp16_divided_in_f16;
#endif

// Compiled apart from the others, as that takes as long.
void scalar_dequantize_converted(const call &c, const rectangle &r);
void avx2_dequantize_converted(const call &c, const rectangle &r);
void avx512_dequantize_converted(const call &c, const rectangle &r);
void scalar_quantize_floats(const call &c, const rectangle &r);
void avx2_quantize_floats(const call &c, const rectangle &r);
void avx512_quantize_floats(const call &c, const rectangle &r);

} // namespace dynquant::kernels::native

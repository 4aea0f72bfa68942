// What the driver and the microkernels of an instruction set share: plain types only, no inline function of a library.
// Code that is compiled for one instruction set includes this.
#pragma once

#include <cstdint>

#include "dynquant/quantization.hpp"

namespace dynquant::kernels::native {

// ---- Element types and formats, as code of one instruction set sees them --------------------------------------------

/// f16 and bf16 as they lie in memory.
struct float16_bits {
    std::uint16_t bits;
};
struct bfloat16_bits {
    std::uint16_t bits;
};

/// How numbers from one power of two to the next are rounded to a float type of 8 bits and fewer: by adding a float,
/// the unit, whose last bit is worth as much as the type's. That sum as an integer, less a base, is the code.
struct rounding_table {
    float least_normal, to_unit;  // from a power of two, at least this one, to the unit
    std::int32_t dropped, offset; // bits of the fraction; the base is unit - (unit >> dropped) + offset
    float unit[32];               // of the power whose exponent ends in these five bits
    std::int32_t base[32];
};

/// How magnitudes and signs become codes of such a type.
struct float8_format {
    float bound; // what lies beyond becomes this
    const rounding_table *units;
    std::uint8_t nan;     // what codes beyond 8 bits become
    std::int8_t signless; // codes up to this one have no sign, as bytes with one, nor those beyond 8 bits
    int sign_shift;       // from the highest bit of a byte
};

/// Vectors as they lie in memory, one after the other.
template <typename V, int count>
struct vectors {
    typename V::integers at[count];
};

// ---- Calls ---------------------------------------------------------------------------------------------

/// A panel holds the parameters that are prepared at once: of at most this many rows or columns.
constexpr std::int64_t panel_capacity = 1088;

/// Microkernels read parameters and pattern up to a block beyond the last column.
constexpr std::int64_t widest_block = 64;

/// Staged elements at a time: with the panel they stay in the first-level cache.
constexpr std::int64_t tile_capacity = 1024;

/// Transposed tiles: a cache line of bytes on one side, three on the side that is computed.
constexpr std::int64_t transposed_side = 64, transposed_length = 192;

/// Prepared parameters. zero: f32 or s32 bits, or the residuals of the reciprocals where all zero points are 0
/// (preparation).
struct columns {
    const float *scale, *reciprocal, *zero;
    float bound; // of quotients: what lies beyond makes no difference
};

/// Dense rows. Steps are elements from row to row.
struct block {
    std::int64_t rows, columns;
    const void *src;
    std::int64_t src_step;
    void *dst;
    std::int64_t dst_step;
    bool stream; // non-temporal stores
};

/// Which parameter each lane takes where runs of columns share one: `first` of a vector's first lane, `index` relative
/// to it.
struct pattern {
    const std::int32_t *index = nullptr; // of each column
    const std::int32_t *first = nullptr; // of each vector
};

/// How a microkernel finds parameters. rows and segs: by a step from row to row. runs: by the pattern.
struct guide {
    std::int64_t parameter_step;
    pattern runs;
    std::int64_t run;                      // columns that share a parameter, where each has not one of its own
    const float8_format *format = nullptr; // of codes
};

using microkernel = void (*)(const block &, const columns &, const guide &);

/// One formula from one type to another, with parameters for each row, for each column, and for runs of columns. Null:
/// not in this form.
struct microkernels {
    microkernel rows;
    microkernel rows_of_f16, rows_of_bf16;    // read those types themselves
    microkernel rows_to_f16, rows_to_bf16;    // write those types themselves
    microkernel rows_to_codes, cols_to_codes; // of floats of 8 bits
    microkernel cols;
    microkernel runs;    // by permutation; runs shorter than a vector
    microkernel segs[3]; // runs of 1, 2 and 4 vectors
};

/// What the parameters of a panel allow.
enum class preparation { general, fast, symmetric };

/// Prepares `count` columns in place: on entry zero holds zero points as s32 bits, or as f32 for what is quantized to
/// floats.
using prepare_function = preparation (*)(
        std::int64_t count, const float *scale, float *reciprocal, float *zero, float *bound);

/// The formulas of one kind of statement.
struct family {
    prepare_function prepare;
    microkernels general, fast, symmetric;
    /// For one scale of `worth_asking` elements and more, which pay for asking whether it is_exact. Null: none.
    microkernels exact;
    bool (*is_exact)(float scale);
    std::int64_t worth_asking;
};

/// Kinds of statement: what formulas compute, by the element types that they read and write.
enum class kind {
    strict_u8,
    strict_s8,
    any_u8,
    any_s8,
    onnx_u8,
    onnx_s8,
    onnx_u16,
    onnx_s16,
    f16_u8,
    f16_s8,
    f16_16,
    bf16_u8,
    bf16_s8,
    bf16_16, // numerics::onnx, divided in f16 and bf16
    wide_s32,
    wide_u32,
    quotient_f32,
    quotient_f16,
    quotient_bf16, // to floats, divided in that type
    difference_u8,
    difference_s8,
    difference_u16,
    difference_s16,
    difference_32,
    difference_floats,
    difference_e4m3,
    difference_e5m2,
    difference_e4m3fnuz,
    difference_e5m2fnuz,
    once_u8,
    once_s8,
    once_s8_relu,
    twice_u8,
    twice_s8,
    twice_s8_relu,
    count
};

// ---- Codecs: dense elements of a type in memory to and from tiles --------------------------------------------------

/// `count` dense elements, from number `first` of a tensor on, to a tile of 32-bit numbers or bytes. Writes up to a
/// vector beyond the last.
using read_function = void (*)(const void *tensor, std::int64_t first, std::int64_t count, void *tile);

/// The reverse. The tile has room for a block beyond `count`.
using write_function = void (*)(void *tile, std::int64_t count, void *tensor, std::int64_t first, bool stream);

struct codecs {
    // By data type, where formulas do not read or write it themselves: f16, bf16 and f4_e2m1 become f32, s4, u4, s2 and
    // u2 bytes, u32 s32, less 2^31.
    read_function read[21];
    read_function round_f16, round_bf16; // f32 to f32
    read_function read_f4_bytes;         // f4_e2m1, a byte for each
    write_function write[21], write_saturated[21];
    float8_format (*format_of)(data_type type, bool saturates); // of floats of 8 bits
};

/// What an instruction set has.
struct instruction_set {
    int lanes;
    family families[static_cast<int>(kind::count)];
    codecs code;
    /// 4-bit elements by a table of 16 results for each row; null where it does not pay. [f32, f16, bf16][u4, s4,
    /// f4_e2m1].
    microkernel look_up[3][3];
    /// Up to transposed_side lines of as many bytes to columns: into, and out of, memory that has room for whole
    /// blocks.
    using transpose_function = void (*)(const unsigned char *from, std::int64_t from_step, std::int64_t lines,
            std::int64_t columns, unsigned char *to, std::int64_t to_step);
    transpose_function transpose_in, transpose_out;
    /// Lines of `count` bytes to one line, a byte of each in turn; and every stride-th byte.
    void (*interleave)(const unsigned char *from, std::int64_t from_step, std::int64_t planes, std::int64_t count,
            unsigned char *to);
    void (*gather_bytes)(const unsigned char *from, std::int64_t stride, std::int64_t count, unsigned char *to);
    /// Gives each of `count` columns its own copy of its parameter, in place.
    void (*expand)(std::int64_t count, const pattern &runs, float *column);
    void (*fence)();
    void (*zero_upper)();
};

extern const instruction_set scalar_set, avx2_set, avx512_set;

/// What AVX512-FP16 adds: f16 by a f16 scale, to 8 bits. Nothing where the compiler does not know it.
extern const family avx512_fp16_to_u8, avx512_fp16_to_s8;

} // namespace dynquant::kernels::native

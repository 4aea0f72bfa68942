// The interface between the driver and the microkernels of an instruction set. Plain types only: code that is compiled
// for one instruction set includes this, so no inline library function may come with it.
#pragma once

#include <cstddef>
#include <cstdint>
#include <utility>

#include "elements/table.hpp"
#include "targets/features.hpp"
#include "targets/simd.hpp"

namespace dynquant::numerics_contract {
struct scale_formula;
}

namespace dynquant::kernels::native {

// ---- Element types and encodings ---------------------------------------------------------------------------

using simd::bfloat16_bits;
using simd::float16_bits;

/// Rounds magnitudes of each binade to a float type of 8 bits or fewer. The magnitude is added to a float, the unit,
/// whose last bit has the weight of the narrow type's. The bits of the sum less a base are the code.
struct rounding_table {
    float min_normal, to_unit;    // unit = max(min_normal, power of two) * to_unit
    std::int32_t dropped, offset; // fraction bits dropped; base = unit - (unit >> dropped) + offset, of the unit's bits
    float unit[32];               // indexed by the low five bits of the exponent
    std::int32_t base[32];
};

/// How magnitudes and signs become codes of a float type of 8 bits or fewer.
struct small_float_encoding {
    std::uint8_t nan;     // replaces codes beyond 8 bits
    std::int8_t signless; // codes that as s8 are at most this get no sign bit; codes beyond 8 bits are -1 there
    int sign_shift;       // of the sign bit, from the highest bit of a byte
    std::uint8_t limit;   // the code of magnitudes beyond the highest number
    float bound;          // larger magnitudes become this
    const rounding_table *units;
};

/// Software prefetch distance in bytes; half of it for packed elements. A page on Intel's processors, whose reads from
/// memory gain a quarter. Elsewhere 0, which asks for the line that is loaded anyway. On Zen 4 reads from memory
/// lose 10 to 30 % by any other distance, as their hardware prefetchers learn nothing from software prefetches.
extern const std::int64_t prefetch_distance;

// ---- Calls ---------------------------------------------------------------------------------------------

/// A chunk holds prepared parameters of at most this many rows or columns.
constexpr std::int64_t chunk_capacity = 1088;

/// Columns that microkernels compute at a time, at most: four vectors of 16 lanes. They read parameters and the pattern
/// up to this many columns beyond the last.
constexpr std::int64_t widest_step = 64;

/// Elements staged at a time. Tiles and chunk together fit in the first-level cache.
constexpr std::int64_t tile_capacity = 1024;

/// Transposed tiles: one cache line of bytes by three. The rows that formulas compute are the long side.
constexpr std::int64_t transposed_side = 64, transposed_length = 192;

/// Rows of at most four elements, such as the channels of images, are interleaved instead.
constexpr std::int64_t max_narrow_row = 4;

struct any_pointer {
    void *to;
    template <typename T>
    [[gnu::always_inline]] operator T *() const {
        return static_cast<T *>(to);
    }
};

/// Columns of 32-bit numbers, one for each parameter. A struct of pointers names them in order: on entry of a
/// preparation fetched_parameters or fetched_reals, and then `parameters` of the formula that it has prepared
/// (formulas/). Two structs may name one column differently: the second is fetched as `second` and becomes `reciprocal`
/// or `high`.
struct parameter_columns {
    static constexpr std::size_t count = 3;
    void *column[count];

    template <typename Names>
    [[gnu::always_inline]] Names as() const {
        constexpr auto names = sizeof(Names) / sizeof(void *);
        static_assert(names <= count && sizeof(Names) == names * sizeof(void *), "expected pointers alone");
        return [&]<std::size_t... i>(std::index_sequence<i...>) __attribute__((always_inline)) {
            return Names {any_pointer {column[i]}...};
        }
        (std::make_index_sequence<names>());
    }
    [[gnu::always_inline]] parameter_columns from(std::int64_t first) const {
        parameter_columns result = *this;
        for (auto *&each : result.column)
            each = static_cast<float *>(each) + first;
        return result;
    }
};

/// Parameters as they are fetched: scales of the division's type; second scales, or in f64 what a scale lacks in f32;
/// zero points, those of u32 less 2^31.
struct fetched_parameters {
    float *scale, *second;
    std::int32_t *zero_point;
};
/// Those of families whose zero points are floats.
struct fetched_reals {
    float *scale, *second, *zero_point;
};

/// How formulas divide that divide in any type.
struct division_options {
    precision division = precision::f32;
    bool of_s32 = false;             // src is s32
    bool to_u32 = false;             // dst is u32
    bool zero_points_of_u32 = false; // held less 2^31
};

/// What formulas know of a statement beside its parameters.
struct formula_constants {
    float limit; // of quotients to floats: larger ones give the same result
    division_options options;
};

struct prepared_parameters {
    parameter_columns columns;
    formula_constants constants;
};

/// Dense rows, what a microkernel computes. Steps are in elements, from row to row.
struct dense_rows {
    std::int64_t rows, columns;
    const void *src;
    std::int64_t src_step;
    void *dst;
    std::int64_t dst_step;
    bool stream;                            // non-temporal stores
    std::int64_t ahead = prefetch_distance; // in bytes, where groups prefetch src
};

/// Which parameter each lane takes if short groups of columns share one: `first` is that of a vector's first lane,
/// `index` is relative to it.
struct pattern {
    const std::int32_t *index = nullptr; // of each column
    const std::int32_t *first = nullptr; // of each vector
};

/// How a microkernel finds parameters: rows and segs by a step from row to row, short groups by the pattern.
struct parameter_access {
    std::int64_t parameter_step;
    pattern short_groups;
    std::int64_t group_length;                      // columns that share a parameter
    const small_float_encoding *encoding = nullptr; // for microkernels that write codes
};

using microkernel = void (*)(const dense_rows &, const prepared_parameters &, const parameter_access &);

/// How a microkernel takes parameters: one for each row, one for each column, one for each group of columns that is
/// shorter than a vector, by permutation, or one for each group of 1, 2 and 4 vectors.
enum class form { rows, cols, short_groups, segs1, segs2, segs4 };

/// What a microkernel reads and writes in memory without a codec: the formula's types, f16 or bf16, or codes of floats
/// of 8 bits and fewer, as bytes.
enum class access { as_is, of_f16, of_bf16, to_f16, to_bf16, to_codes, f16_to_codes, bf16_to_codes };

/// One formula between two types, by form and access. Null: not available. Most have few or none, and tables have many
/// of these.
class microkernels {
  public:
    [[gnu::always_inline]] constexpr microkernel at(form f, access a = access::as_is) const {
        return all_[index_[static_cast<int>(f)][static_cast<int>(a)]];
    }
    /// Fails to compile, in a table, where there is no room.
    [[gnu::always_inline]] constexpr void set(form f, microkernel kernel, access a = access::as_is) {
        auto &index = index_[static_cast<int>(f)][static_cast<int>(a)];
        if (index == 0) index = ++count_;
        all_[index] = kernel;
    }

  private:
    static constexpr int most = 16;
    std::uint8_t count_, index_[1 + static_cast<int>(form::segs4)][1 + static_cast<int>(access::bf16_to_codes)];
    microkernel all_[1 + most]; // the first: null
};

/// Which formulas the parameters of a chunk allow: those for any parameters, those for parameters that pass the
/// family's guard, or those that need no zero points, within the guard if the family has one. The last is no result of
/// a preparation: those for one exact scale, within the guard.
enum class chunk_state { any_parameters, guarded, no_zero_points, exact };
constexpr int preparations = 4;

/// Makes, in place, parameters of `count` fetched ones, and returns for which formulas they are.
using prepare_function = chunk_state (*)(std::int64_t count, const parameter_columns &);

/// Computes one dense row under one parameter, given as the bits of its scale and as a zero point, unless the parameter
/// is outside the family's guard. Returns whether it did.
using flat_microkernel = bool (*)(
        const void *src, void *dst, std::int64_t count, std::int32_t scale, std::int32_t zero_point);

/// Formulas for one scale for which is_exact holds. The test pays from `min_elements_to_test` elements on.
struct exact_formulas {
    microkernels kernels;
    bool (*is_exact)(const parameter_columns &);   // those of the guarded formulas
    std::int64_t min_elements_to_test = INT64_MAX; // the highest: there are no such formulas
};

/// What of a statement its formulas depend on.
struct formula_query {
    direction dir;
    data_type quantized;      // dst to quantize, src to dequantize
    bool multiplies;          // by multipliers that are not the scales: computed scales
    numerics rule;            // to quantize to integers; strict where onnx gives the same results
    precision division;       // f32 to dequantize
    bool has_own_zero_points; // none, or of the type of the quantized side
};

/// A set of enumerators, by their bits.
using set_of_bits = std::uint32_t;
constexpr set_of_bits bit(auto enumerator) {
    return set_of_bits {1} << static_cast<int>(enumerator);
}

/// Statements of a direction, by what else formula_query has.
struct statement_set {
    static constexpr set_of_bits all = ~set_of_bits {0};

    direction dir;
    set_of_bits types; // of the quantized side
    bool multiplies = false;
    set_of_bits rules = all, divisions = all, own_zero_points = all;
};

/// The formulas of some statements.
struct family {
    statement_set computes;
    prepare_function prepare;
    data_type reads, writes;   // the types of elements; codecs convert others
    bool has_real_zero_points; // fetched_reals
    float no_zero_point;       // the real that acts as none
    microkernels any_parameters, guarded, no_zero_points;
    exact_formulas exact;
    flat_microkernel flat; // from reads to writes; null: not available
};

/// Whether formulas read a type's elements as they are, a float of 8 bits.
constexpr bool is_float8(const data_type_traits &type) {
    return !type.integral && type.bits == 8 && (type.places & (place::quantized | place::onnx_quantized)) != 0;
}

// ---- Codecs: dense elements of a type in memory to and from tiles --------------------------------------------------

/// Reads `count` dense elements, from number `first` of a tensor on, to a tile of 32-bit numbers or bytes. Writes up to
/// a vector beyond the last.
using read_function = void (*)(const void *tensor, std::int64_t first, std::int64_t count, void *tile);

/// Writes `count` elements of a tile to a tensor. May overwrite the tile, which has room for a widest step beyond
/// `count`.
using write_function = void (*)(void *tile, std::int64_t count, void *tensor, std::int64_t first, bool stream);

struct codecs {
    // Null if formulas access the type directly. Floats become f32; s4, u4, s2 and u2 become bytes; u32 becomes s32,
    // less 2^31.
    by_type<read_function> read;
    struct {
        read_function in[4];           // by precision; null: as they are
    } reals_to, integers_to;           // from f32 and s32 to the division's type, in the tile
    by_type<read_function> unpack;     // elements narrower than a byte to bytes
    by_type<read_function> read_bytes; // floats that have been unpacked to bytes
    by_type<write_function> write, write_saturated;
    by_type<write_function> write_bytes;                                   // of codes, from bytes
    by_type<const small_float_encoding *> encodings, saturating_encodings; // of floats of 8 bits and fewer
};

// ---- Computed scales ----------------------------------------------------------------------------------------------

/// Extends the ranges of parameters by the elements of dense rows of src, see scales/ranges.hpp. `low` and `high` are
/// bits of src's type, of the first row's parameter on. Row i belongs to parameter i * parameter_step, or each column
/// to its own.
using range_function = void (*)(const dense_rows &, std::int64_t parameter_step, void *low, void *high);

/// [absolute]: `high` is the absolute maximum, and `low` is left as it is.
struct range_functions {
    range_function add_rows[2], add_columns[2];
};

/// Parameters of consecutive blocks from their ranges, see scales/scale_formulas.hpp. Arrays are read and written up to
/// a vector beyond `count`; null: not wanted. `factor` is what x is divided by or, if the rule multiplies, multiplied
/// by. `limit` is the scale that bounds x of integers that are multiplied; else it is `factor`, too.
struct computed_parameters {
    std::int64_t count;
    const float *low, *high;                          // ranges
    float global = 1;                                 // scale
    float *scale = nullptr;                           // rounded to its type; always wanted
    float *limit = nullptr, *factor = nullptr;        // scales and second scales of the box's statement
    float *multiplier = nullptr, *residual = nullptr; // see group_parameters
    std::int32_t *zero_point = nullptr;
};

/// Says what holds of all parameters.
struct found_parameters {
    bool are_regular; // if codes are narrow: the box's statement gives the codes of the rule
    bool are_bounded; // quotients are in the bounds of group_microkernels, which then give the codes
};

/// Parameters of group_microkernels. The quotient is fma(x, multiplier, x * residual); residuals of products are 0.
struct group_parameters {
    float *multiplier, *residual;
    std::int32_t *zero_point;
};

/// Codes of groups whose scales are computed, by the elements of a group: 16, 32, a multiple of 64, or any number.
/// Quotients are far below 2^22; those to floats below four times the highest number.
struct group_microkernels {
    microkernel of_16, of_32, of_64s, of_any;
};

/// What computes the codes of groups: a product, a quotient, a quotient and a zero point, or a product to codes.
enum class group_formula { product_s8, quotient_s8, sum_s8, sum_u8, codes, count };

/// All code of an instruction set.
struct kernel_loops {
    const char *name;
    int lanes;
    const family *families; // the first that computes a statement is its family
    int family_count;
    codecs code;
    /// Dequantize 4-bit elements, by src's type, by a table of 16 results for each row. Null where that does not pay.
    by_type<microkernel> look_up_to_f32, look_up_to_f16, look_up_to_bf16;
    /// Transpose up to transposed_side lines of up to transposed_side bytes. The transposed_in destination and the
    /// transposed_out source have room for whole pieces of 16 by 32.
    using transpose_function = void (*)(const unsigned char *from, std::int64_t from_step, std::int64_t lines,
            std::int64_t columns, unsigned char *to, std::int64_t to_step);
    transpose_function transpose_in, transpose_out;
    /// Interleaves `planes` lines of `count` bytes; copies every stride-th byte.
    void (*interleave)(const unsigned char *from, std::int64_t from_step, std::int64_t planes, std::int64_t count,
            unsigned char *to);
    void (*gather_bytes)(const unsigned char *from, std::int64_t stride, std::int64_t count, unsigned char *to);
    /// Gives each of `count` columns its own copy of its parameter, in place.
    void (*expand)(std::int64_t count, const pattern &of, void *column);
    range_functions ranges[2]; // of f32, and of f16 or bf16
    found_parameters (*find_parameters)(const numerics_contract::scale_formula &, const computed_parameters &);
    /// By the type of src: f32, f16, bf16. Null: not available.
    group_microkernels groups[3][static_cast<int>(group_formula::count)];
    void (*fence)();
    void (*zero_upper)();
};

/// These divide f16 by an f16 scale, to 8 bits, in f16 arithmetic. They are empty without AVX512-FP16.
struct float16_formulas {
    exact_formulas to_u8, to_s8;
};

extern const targets::candidate<const kernel_loops *> loops_table[];
extern const targets::candidate<const float16_formulas *> float16_table[];

} // namespace dynquant::kernels::native

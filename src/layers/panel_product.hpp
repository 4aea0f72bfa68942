// Products by weights that lie in panels, as the instruction sets' loops read them: one stream from beginning to end.
#pragma once

#include <cstddef>
#include <cstdint>

#include "parallel/parallel.hpp"

namespace dynquant::layers {

/// What weights have beyond what instructions that add two products in 16 bits can take (saturation_excess.hpp): steps
/// of each panel after those of its weights, each four elements of a row by a group of weights.
struct excess_steps {
    const std::int64_t *begin;    // of each panel's, and the last one's end
    const std::int32_t *elements; // four of each step
    const std::int8_t *weights;
};

/// Weights, panel after panel, each of some of the columns; in a panel, of each four rows, the four elements of each
/// column. Each panel ends in zeros, as if the rows were a multiple of four, or for AMX of its depth.
struct panel_product {
    const std::int8_t *weights;
    std::int64_t panel_bytes;
    const std::int32_t *start; // what each column's sums begin with where s8 is multiplied as u8, 128 more
    excess_steps excess;
    std::int64_t rows, inner, columns;
    bool x_is_signed;
};

/// Sums of some panels, which wrap. x and y are dense.
using multiply_panels_function = void (*)(
        const panel_product &p, const std::byte *x, parallel::range panels, std::int32_t *y);

#if defined(__x86_64__)
/// Without VNNI, where oneDNN's products are not exact. For any number of rows.
inline constexpr std::int64_t avx2_columns = 16;
extern const multiply_panels_function avx2_multiply_panels;

/// For a few rows: hardly more than reading the weights. oneDNN's products, by AMX, take up to twice as long.
inline constexpr std::int64_t vnni_rows = 4, vnni_columns = 64;
extern const multiply_panels_function avx512_vnni_multiply_panels;

/// By AMX, for up to so many rows, as many as a tile has; so many elements of each are multiplied at once.
inline constexpr std::int64_t amx_rows = 16, amx_columns = 64, amx_depth = 64;
extern const multiply_panels_function amx_int8_multiply_panels;
#endif

} // namespace dynquant::layers

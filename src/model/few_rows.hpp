// Products of a few rows by constant weights: hardly more than reading these. oneDNN's, by AMX, take up to twice as
// long.
#pragma once

#include <cstddef>
#include <cstdint>

#include "parallel/parallel.hpp"

namespace dynquant::models {

/// The columns of a panel.
inline constexpr std::int64_t panel_columns = 64;

/// Weights, panel after panel; in a panel, of each four rows, the four elements of each column. Each panel ends in
/// zeros, as if the rows were a multiple of four, or for AMX of its depth.
struct few_rows_product {
    const std::int8_t *weights;
    std::int64_t panel_bytes;
    const std::int32_t *start; // what each column's sums begin with where s8 is multiplied as u8, 128 more
    std::int64_t rows, inner, columns;
    bool x_is_signed;
};

/// Sums of some panels, which wrap. x and y are dense.
using multiply_panels_function = void (*)(
        const few_rows_product &p, const std::byte *x, parallel::range panels, std::int32_t *y);

#if defined(__x86_64__)
extern const multiply_panels_function avx512_vnni_multiply_panels;

/// By AMX, for up to so many rows, as many as a tile has; so many elements of each are multiplied at once.
inline constexpr std::int64_t amx_rows = 16, amx_depth = 64;
extern const multiply_panels_function amx_int8_multiply_panels;
#endif

} // namespace dynquant::models

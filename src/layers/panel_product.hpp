// Products by weights packed in panels, the layout that the loops in isa/ read as one sequential stream.
#pragma once

#include <cstddef>
#include <cstdint>

#include "parallel/parallel.hpp"

namespace dynquant::layers {

/// Further steps of each panel, which add what saturation_excess.hpp subtracted from its weights. Each multiplies four
/// elements of a row by four weights of each column.
struct excess_steps {
    const std::int64_t *begin;    // index of each panel's first step, then the number of all steps
    const std::int32_t *elements; // four indices into a row of x per step
    const std::int8_t *weights;   // four per column and step
};

/// Weights in panels of adjacent columns. A panel interleaves four rows: for each four rows, the four weights of each
/// column are adjacent. Zeros pad the rows to a multiple of four, or for AMX of amx_depth.
struct panel_product {
    const std::int8_t *weights;
    std::int64_t panel_bytes;
    const std::int32_t *compensation; // each column's initial sum, where s8 is read as u8, 128 more
    excess_steps excess;
    std::int64_t rows, inner, columns;
    bool x_is_signed;
};

/// Computes the sums of some panels, which wrap. x and y are dense.
using multiply_panels_function = void (*)(
        const panel_product &p, const std::byte *x, parallel::range panels, std::int32_t *y);

#if defined(__x86_64__)
/// For processors without VNNI, where oneDNN's products are not exact. Any number of rows.
inline constexpr std::int64_t avx2_columns = 16;
extern const multiply_panels_function avx2_multiply_panels;

/// For up to vnni_rows rows, where the time is that of reading the weights. oneDNN's AMX products take up to twice as
/// long.
inline constexpr std::int64_t vnni_rows = 4, vnni_columns = 64;
extern const multiply_panels_function avx512_vnni_multiply_panels;

/// By AMX. A tile has amx_rows rows of x, which is the maximum, and amx_depth elements of each.
inline constexpr std::int64_t amx_rows = 16, amx_columns = 64, amx_depth = 64;
extern const multiply_panels_function amx_int8_multiply_panels;
#endif

} // namespace dynquant::layers

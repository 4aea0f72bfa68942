// Products by weights packed in panels, the layout that the loops in isa/ read as one sequential stream.
#pragma once

#include <cstddef>
#include <cstdint>

#include "parallel/parallel.hpp"

namespace dynquant::layers {

/// Further steps of each panel, which add what saturation_excess.hpp subtracted from its weights. Each multiplies four
/// elements of a row by four weights of each column.
struct excess_steps {
    /// An element of a row of x.
    struct element {
        std::int32_t line, index;
        bool operator==(const element &) const = default;
    };
    const std::int64_t *begin;  // index of each panel's first step, then the number of all steps
    const element *elements;    // four per step
    const std::int8_t *weights; // four per column and step
};

/// Weights in panels of adjacent columns. A panel interleaves four rows: for each four rows, the four weights of each
/// column are adjacent. Zeros pad the rows of each line to a multiple of four, or for AMX of amx_depth.
struct panel_product {
    const std::int8_t *weights;
    std::int64_t panel_bytes;
    const std::int32_t *compensation; // each column's initial sum, where s8 is read as u8, 128 more
    excess_steps excess;
    std::int64_t rows, columns;
    std::int64_t lines, line_inner; // of a row of x, see rows_of_lines
    std::int64_t x_stride, y_stride;
    bool x_is_signed;
};

/// Computes the sums of some panels, which wrap.
using multiply_panels_function = void (*)(
        const panel_product &p, const std::byte *const *lines, parallel::range panels, std::int32_t *y);

#if defined(__x86_64__)
/// Any number of rows, on processors without VNNI.
inline constexpr std::int64_t avx2_columns = 16;
extern const multiply_panels_function avx2_multiply_panels;

/// Any number of rows. One function for each width of a panel, of 1 to 4 vectors of vnni_lanes columns. For up to
/// vnni_rows rows the time is that of reading the weights, and oneDNN's AMX products take up to twice as long.
inline constexpr std::int64_t vnni_rows = 4, vnni_lanes = 16, vnni_vectors = 4;
extern const multiply_panels_function avx512_vnni_multiply_panels[vnni_vectors];

/// By AMX, for rows of one line. A tile has amx_rows rows of x, which is the maximum, and amx_depth elements of each.
inline constexpr std::int64_t amx_rows = 16, amx_columns = 64, amx_depth = 64;
extern const multiply_panels_function amx_int8_multiply_panels;
#endif

} // namespace dynquant::layers

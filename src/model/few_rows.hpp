// Products of a few rows by constant weights: hardly more than reading these. oneDNN's, by AMX, takes twice as long.
#pragma once

#include <cstddef>
#include <cstdint>

#include "parallel/parallel.hpp"

namespace dynquant::models {

/// The columns of a panel.
inline constexpr std::int64_t panel_columns = 64;

/// Weights, panel after panel; in a panel, of each four rows, the four elements of each column. They end in zeros.
struct few_rows_product {
    const std::int8_t *weights;
    const std::int32_t *start; // what each column's sums begin with
    std::int64_t rows, inner, columns;
    std::uint32_t flip; // exclusive or of it makes four elements of x u8
};

/// Sums of some panels, which wrap. x and y are dense.
using multiply_panels_function = void (*)(
        const few_rows_product &p, const std::byte *x, parallel::range panels, std::int32_t *y);

#if defined(__x86_64__)
extern const multiply_panels_function avx512_vnni_multiply_panels;
#endif

} // namespace dynquant::models

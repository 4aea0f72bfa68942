// Copies some weights as they lie to rows of bytes, which loops multiply.
#pragma once

#include "layers/gemm/weight_only/weight_only_panels.hpp"

namespace dynquant::layers {

/// Some rows of the columns of one or two panels, and where they go: rows of `width`.
struct given_part {
    std::int64_t first_row, rows, first_column, columns;
    std::int8_t *to;
    std::int64_t width;
};

/// The bytes are flipped as w says. Nibbles become one byte each, and rows are even in number where they lie column by
/// column, or a row more is written. Of a row as many bytes as fit `width` may be written.
void copy_given(const given_weights &w, const given_part &part);

} // namespace dynquant::layers

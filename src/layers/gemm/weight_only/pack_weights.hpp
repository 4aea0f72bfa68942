// Packs narrow weights in the panels that loops read.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <vector>

#include "layers/gemm/weight_only/weight_only_panels.hpp"
#include "parallel/parallel.hpp"

namespace dynquant::layers {

struct weight_only_weights;

/// What is added to integers, and to their zero points, so that all are s8 or u4.
std::int32_t code_offset(data_type type);

/// The bits to flip of each byte for that offset.
std::uint8_t sign_flip(data_type type);

/// Packs some panels of w, panel_columns wide, on one thread. are_subtracted: bytes become less by the zero points of
/// the layout. to: of the first of the panels, zeros.
void pack_panels(const weight_only_weights &w, const weight_only_panels &layout, std::int64_t panel_columns,
        bool are_subtracted, parallel::range panels, std::byte *to);

} // namespace dynquant::layers

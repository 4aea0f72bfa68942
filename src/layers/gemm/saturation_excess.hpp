// Avoids the saturation of VPMADDUBSW, which adds two products of u8 and s8 in 16 bits.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "layers/gemm/panel_product.hpp"

namespace dynquant::layers {

/// The excess of each panel: what was subtracted from its weights so that no pair of products saturates.
class saturation_excess {
  public:
    /// line_rows: the rows of a panel that a line of x multiplies, with their padding.
    explicit saturation_excess(std::int64_t line_rows)
        : line_rows_(line_rows) {}

    /// Subtracts the excess from the next panel and keeps it.
    void take_from(std::span<std::int8_t> panel, std::int64_t columns);

    /// Valid until the next take_from(), and as long as this object.
    excess_weights weights() const { return {begin_.data(), weights_.data()}; }

  private:
    std::int64_t line_rows_;
    std::vector<std::int64_t> begin_ = {0};
    std::vector<excess_weights::weight> weights_;
};

} // namespace dynquant::layers

// Avoids the saturation of VPMADDUBSW, which adds two products of u8 and s8 in 16 bits.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "layers/panel_product.hpp"

namespace dynquant::layers {

/// The excess of each panel: what was subtracted from its weights so that no pair of products saturates, and which
/// elements of a row it multiplies.
class saturation_excess {
  public:
    /// line_rows: the rows of a panel that a line of x multiplies, with their padding.
    explicit saturation_excess(std::int64_t line_rows)
        : line_rows_(line_rows) {}

    /// Subtracts the excess from the next panel, of `columns` columns, and keeps it.
    void take_from(std::span<std::int8_t> panel, std::int64_t columns);

    /// Valid until the next take_from(), and as long as this object.
    excess_steps steps() const { return {begin_.data(), elements_.data(), weights_.data()}; }

  private:
    void add(std::int64_t row, std::span<const std::int8_t> excess);

    std::int64_t line_rows_;
    std::vector<std::int64_t> begin_ = {0};
    std::vector<excess_steps::element> elements_;
    std::vector<std::int8_t> weights_;
    std::int64_t places_ = 4; // used in the last step, of four
};

} // namespace dynquant::layers

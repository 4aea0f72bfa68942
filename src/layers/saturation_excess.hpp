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
    using words = std::int16_t __attribute__((vector_size(16))); // a vector of any processor

    /// line_rows: the rows of a panel that a line of x multiplies, with their padding. panels: bytes of all, which the
    /// excess does not exceed.
    saturation_excess(std::int64_t line_rows, std::size_t panels)
        : line_rows_(line_rows) {
        weights_.reserve(panels); // the rest is never written, and so takes no memory
    }

    /// Subtracts the excess from the next panel, of up to 16 columns, and keeps it.
    void take_from(std::span<std::int8_t> panel, std::int64_t columns);

    /// Valid until the next take_from(), and as long as this object.
    excess_steps steps() const { return {begin_.data(), elements_.data(), weights_.data()}; }

  private:
    static constexpr std::size_t vectors = 2;
    struct columns_excess {
        words of[vectors];
    };

    void add(std::int64_t row, const columns_excess &excess, std::size_t columns);

    std::int64_t line_rows_;
    std::vector<std::int64_t> begin_ = {0};
    std::vector<excess_steps::element> elements_;
    std::vector<std::int8_t> weights_;
    std::int64_t places_ = 4;  // used in the last step, of four
    columns_excess last_ = {}; // in the last place that is used
};

} // namespace dynquant::layers

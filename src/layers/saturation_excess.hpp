// Weights for instructions that add two products of u8 and s8 in 16 bits, where sums beyond them saturate.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "layers/panel_product.hpp"

namespace dynquant::layers {

/// What is taken away from weights so that no two products saturate, for each panel, and what it meets.
class saturation_excess {
  public:
    /// Takes the excess of the next panel, which has those columns.
    void take_from(std::span<std::int8_t> panel, std::int64_t columns);

    /// Valid as long as this is and nothing is taken.
    excess_steps steps() const { return {begin_.data(), elements_.data(), weights_.data()}; }

  private:
    void add(std::int32_t element, std::span<const std::int8_t> excess);

    std::vector<std::int64_t> begin_ = {0};
    std::vector<std::int32_t> elements_;
    std::vector<std::int8_t> weights_;
    std::int64_t places_ = 4; // taken in the last step
};

} // namespace dynquant::layers

// A rescaling followed by a cast to float16 and a function of float16. The function is a table over all float16 bits.
#pragma once

#include "layers/layer_rescale.hpp"
#include "layers/permute.hpp"

namespace dynquant::layers {

class float16_activation final : public layer_rescale {
  public:
    /// table: the result for each of the 65536 bit patterns of float16.
    float16_activation(const rescale_parameters &p, const layer_shape &shape, std::vector<std::uint8_t> table);

    bool is_folded() const override { return false; }
    std::size_t scratch_bytes() const override { return from_last_ ? static_cast<std::size_t>(rows_ * channels_) : 0; }
    void run(const std::int32_t *sums, std::uint8_t *y, std::byte *scratch) const override;

  private:
    void run_row(const std::int32_t *sums, std::uint8_t *y) const;

    rescale_parameters p_;
    std::int64_t rows_, channels_;
    std::vector<std::uint8_t> table_;
    std::optional<permutation> from_last_;
};

} // namespace dynquant::layers

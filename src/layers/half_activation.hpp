// A rescaling whose values are cast to float16 and go through a function of it: by a table of all float16.
#pragma once

#include "layers/layer_rescale.hpp"
#include "layers/permute.hpp"

namespace dynquant::layers {

class half_activation final : public layer_rescale {
  public:
    /// table: a result for each of the 65536.
    half_activation(const rescale_parameters &p, const layer_shape &shape, std::vector<std::uint8_t> table);

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

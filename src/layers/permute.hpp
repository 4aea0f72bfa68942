// Elements of a dense tensor in another order of its dimensions.
#pragma once

#include "dynquant/quantization.hpp"

namespace dynquant::layers {

/// Where the elements of a permuted tensor come from.
class permutation {
  public:
    permutation() = default;
    /// y's dimension d is x's dimension order[d].
    permutation(const dims &shape, const std::vector<std::size_t> &order, std::size_t element_bytes);

    /// x and y do not overlap.
    void run(const void *x, void *y) const;

  private:
    template <typename Element>
    void run_typed(const Element *x, Element *y) const;
    template <typename Element>
    void copy_rows(const Element *x, Element *y) const;
    template <typename Element>
    void turn(const Element *x, Element *y) const;

    dims shape_, strides_; // y's extents, and x's strides in that order; the dimensions that stay neighbours are one
    dims y_strides_;
    /// Which of them lies densely in x.
    std::size_t dense_ = 0;
    std::size_t element_bytes_ = 1;
};

/// Channels, the second dimension, become the last; and back. For convolutions.
permutation to_channels_last(const dims &shape, std::size_t element_bytes);
permutation from_channels_last(const dims &shape, std::size_t element_bytes);

} // namespace dynquant::layers

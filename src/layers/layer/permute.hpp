// Transposition of dense tensors: any order of the dimensions, for elements of 1, 2 or 4 bytes.
#pragma once

#include "dynquant/quantization.hpp"

namespace dynquant::layers {

/// A transposition of tensors of one shape, prepared once.
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
    void copy_rows(const std::byte *x, std::byte *y) const;
    template <typename Element>
    void transpose(const Element *x, Element *y) const;

    dims shape_, strides_; // y's extents and x's strides, in y's order; dimensions that stay adjacent are merged
    dims y_strides_;
    std::size_t dense_ = 0; // the dimension with stride 1 in x
    std::size_t element_bytes_ = 1;
};

/// From NC... to N...C. `shape` is the channels-first shape, N, C, spatial ones.
permutation to_channels_last(const dims &shape, std::size_t element_bytes);

} // namespace dynquant::layers

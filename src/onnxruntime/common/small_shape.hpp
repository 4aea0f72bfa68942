// A shape that is read at each run: up to rank 8 without allocation.
#pragma once

#include <algorithm>
#include <array>

#include "dynquant/quantization.hpp"

namespace dynquant::onnxruntime {

class small_shape {
  public:
    /// All extents are 0; data() is for filling them.
    explicit small_shape(std::size_t rank)
        : rank_(rank)
        , heap_extents_(rank > inline_extents_.size() ? rank : 0) {}

    std::int64_t *data() { return heap_extents_.empty() ? inline_extents_.data() : heap_extents_.data(); }
    const std::int64_t *data() const { return heap_extents_.empty() ? inline_extents_.data() : heap_extents_.data(); }

    bool operator==(const dims &other) const {
        return rank_ == other.size() && std::equal(other.begin(), other.end(), data());
    }
    explicit operator dims() const { return {data(), data() + rank_}; }

  private:
    std::size_t rank_;
    std::array<std::int64_t, 8> inline_extents_ = {};
    dims heap_extents_;
};

} // namespace dynquant::onnxruntime

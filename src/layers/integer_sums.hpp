// Sums of products of integers, which layers begin with.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

namespace dynquant::layers {

/// Sums of s32, channels last, less a bias. Immutable.
class integer_sums {
  public:
    integer_sums() = default;
    integer_sums(const integer_sums &) = delete;
    integer_sums &operator=(const integer_sums &) = delete;
    virtual ~integer_sums() = default;

    /// What run() leaves out and is to be added to the sums of each channel, wrapping; empty where it is 0.
    virtual const std::vector<std::int32_t> &bias() const = 0;
    virtual std::size_t scratch_bytes() const = 0;
    /// May be called from many threads at once, each with its own y and scratch.
    virtual void run(const void *x, std::int32_t *y, std::byte *scratch) const = 0;
};

} // namespace dynquant::layers

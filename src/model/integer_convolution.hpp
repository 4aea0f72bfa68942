// Convolutions with constant int8 weights, as ConvInteger defines them: exact, in s32, which wraps. Channels last.
#pragma once

#include <memory>
#include <vector>

#include "model/integer_product.hpp"
#include "model/window.hpp"

namespace dynquant::models {

/// Less the bias, as integer_product. x is batch, spatial dimensions, channels; so is y.
class integer_convolution {
  public:
    struct problem {
        bool x_is_signed = false; // s8, else u8
        std::int64_t batch = 0, groups = 1, channels = 0, filters = 0;
        window over = {};
        std::int32_t x_zero_point = 0;                // of the padding, too
        std::vector<std::int32_t> w_zero_points = {}; // none, one, or one for each filter
    };

    /// w is filters, channels of a group, window; it is copied.
    static std::unique_ptr<const integer_convolution> make(const problem &p, const std::int8_t *w);

    integer_convolution() = default;
    integer_convolution(const integer_convolution &) = delete;
    integer_convolution &operator=(const integer_convolution &) = delete;
    virtual ~integer_convolution() = default;

    virtual const std::vector<std::int32_t> &bias() const = 0;
    virtual std::size_t scratch_bytes() const = 0;
    /// May be called from many threads at once, each with its own y and scratch.
    virtual void run(const void *x, std::int32_t *y, std::byte *scratch) const = 0;
};

/// By oneDNN's convolution, or nothing where that is not exact or there is none.
std::unique_ptr<const integer_convolution> direct_convolution(
        const integer_convolution::problem &p, const std::int8_t *w);

/// As products of gathered windows.
std::unique_ptr<const integer_convolution> gathered_convolution(
        const integer_convolution::problem &p, const std::int8_t *w);

/// Weights as a product takes them, one group after another: taps, channels, filters.
std::vector<std::int8_t> product_weights(const integer_convolution::problem &p, const std::int8_t *w);

} // namespace dynquant::models

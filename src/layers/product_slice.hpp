// A product over some of the inner dimension.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <vector>

namespace dynquant::layers {

/// y = x w, all dense, where x and w may be part of larger ones. Immutable.
class product_slice {
  public:
    struct problem {
        bool x_is_signed;
        std::int64_t rows, inner, columns;
    };

    product_slice() = default;
    product_slice(const product_slice &) = delete;
    product_slice &operator=(const product_slice &) = delete;
    virtual ~product_slice() = default;

    virtual void run(const std::byte *x, std::int32_t *y) const = 0;
};

/// For any weights, where there are few rows and the processor has instructions for it; nothing else.
std::unique_ptr<const product_slice> few_rows_slice(const product_slice::problem &p, const std::int8_t *w);

/// By AVX2, for any weights; nothing where the processor lacks it.
std::unique_ptr<const product_slice> vector_slice(const product_slice::problem &p, const std::int8_t *w);

/// By plain loops, for any weights.
std::unique_ptr<const product_slice> plain_slice(const product_slice::problem &p, const std::int8_t *w);

/// oneDNN may convert sums to f32, and shifts s8 sources to u8 and corrects the sum afterwards. Where the weights of a
/// sum have, positive and negative ones each, at most this total, neither rounds: 255 times it is below 2^24, and 128
/// times twice it is 2^24.
inline constexpr std::int64_t exact_sum = 65536;

/// Where the slices of an inner dimension end, so that each column of each slice has weights that oneDNN adds exactly.
/// All but the last are multiples of 64, which oneDNN's products by AMX take without a remainder.
std::vector<std::int64_t> exact_slices(const std::int8_t *w, std::int64_t inner, std::int64_t columns);

} // namespace dynquant::layers

// A product over a part of the inner dimension. integer_product adds the slices.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <vector>

namespace dynquant::layers {

/// y = x w, all dense, row-major. Immutable; run() is thread-safe.
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

    /// Whether run_rows() may be called.
    virtual bool computes_any_rows() const { return false; }
    /// Computes any number of rows, on this thread alone.
    virtual void run_rows(const std::byte *, std::int64_t, std::int32_t *) const {}
};

/// By AVX-512 VNNI or AMX, for any weights. Null for more rows than these take, and on other processors.
std::unique_ptr<const product_slice> make_few_rows_slice(const product_slice::problem &p, const std::int8_t *w);

/// By AVX2, for any weights. Null on a processor without AVX2.
std::unique_ptr<const product_slice> make_vector_slice(const product_slice::problem &p, const std::int8_t *w);

/// By plain loops, for any weights.
std::unique_ptr<const product_slice> make_plain_slice(const product_slice::problem &p, const std::int8_t *w);

/// Limit for the total of the positive weights of a sum, and for that of the negative ones, within which oneDNN's sums
/// are exact. oneDNN may convert sums to f32, and may multiply s8 sources as u8 with a compensation. Sums stay within
/// 2^24, which f32 holds: 255 * 65536 for u8, 128 * 2 * 65536 for s8.
inline constexpr std::int64_t max_exact_sum = 65536;

/// The ends of slices of the inner dimension that each keep every column within max_exact_sum. All ends but the last
/// are multiples of 64, so that oneDNN's AMX products have no remainder.
std::vector<std::int64_t> exact_slices(const std::int8_t *w, std::int64_t inner, std::int64_t columns);

} // namespace dynquant::layers

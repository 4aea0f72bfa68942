#include "layers/whole_sums.hpp"

#include <algorithm>

#include "layers/integer_product.hpp"
#include "layers/onednn/onednn.hpp"
#include "parallel/parallel.hpp"
#include "quantization/shape.hpp"

namespace dynquant::layers {
namespace {

class whole_sums final : public block_sums {
  public:
    whole_sums(std::unique_ptr<const integer_sums> all, std::int64_t positions)
        : all_(std::move(all))
        , positions_(positions) {}

    const std::vector<std::int32_t> &weight_sums() const override { return all_->weight_sums(); }

    void run_blocks(
            const void *x, std::int32_t x_zero_point, run_memory &memory, block_consumer consume) const override {
        const auto channels = std::ssize(weight_sums()), count = positions_ * channels;
        auto *const sums = grown_aligned(memory.sums, static_cast<std::size_t>(count));
        all_->run(x, x_zero_point, sums, grown_aligned(memory.scratch, all_->scratch_bytes()));
        const auto most = std::max<std::int64_t>(most_sums / channels, 1);
        parallel::for_each_part(positions_, parallel::parts_for_items(positions_, count), [&](parallel::range part) {
            for (auto begin = part.begin; begin < part.end; begin += most)
                consume({begin, std::min(part.end, begin + most)}, sums + begin * channels);
        });
    }

  private:
    static constexpr std::int64_t most_sums = 16 * 1024; // which stay in the second-level cache for a table's look-up

    /// At a cache line.
    template <typename T>
    static T *grown_aligned(std::vector<T> &to, std::size_t count) {
        auto *const begin = run_memory::grown(to, count + 64 / sizeof(T));
        return begin + (64 - reinterpret_cast<std::uintptr_t>(begin) % 64) / sizeof(T);
    }

    std::unique_ptr<const integer_sums> all_;
    std::int64_t positions_;
};

/// One tap over positions without padding, as a layer states a product.
bool is_product(const integer_convolution &p) {
    const auto &w = p.window;
    return p.batch == 1 && p.groups == 1 && w.rank() == 1 && w.kernel[0] == 1 && w.x == w.y && !w.is_padded();
}

std::unique_ptr<const integer_sums> whole_sums_of(const integer_convolution &p, const std::int8_t *w) {
    if (!is_product(p)) return make_direct_convolution(p, w);
    const integer_product::problem product {
            p.x_is_signed, p.window.x[0], p.channels, p.filters, p.w_zero_points, p.available};
    return std::make_unique<integer_product>(product, product_weights(p, w).data());
}

} // namespace

packed_convolution pack_with_onednn(const integer_convolution &packed, const std::int8_t *w) {
    const auto count = packed.filters * (packed.channels / packed.groups) * *volume(packed.window.kernel);
    return [weights = std::vector(w, w + count)](const integer_convolution &p) -> std::unique_ptr<const block_sums> {
        if (auto all = whole_sums_of(p, weights.data()))
            return std::make_unique<whole_sums>(std::move(all), p.batch * *volume(p.window.y));
        return pack_convolution(p, weights.data())(p);
    };
}

} // namespace dynquant::layers

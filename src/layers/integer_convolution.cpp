#include "layers/integer_convolution.hpp"

#include <algorithm>
#include <cstring>

#include "layers/integer_product.hpp"
#include "layers/onednn/onednn.hpp"
#include "parallel/parallel.hpp"
#include "quantization/shape.hpp"

namespace dynquant::layers {
namespace {

using problem = integer_convolution;

/// Convolution by im2col, image by image and group by group.
class im2col_convolution final : public integer_sums {
  public:
    im2col_convolution(const problem &p, const std::int8_t *w)
        : p_(p)
        , rows_(*volume(p.window.y))
        , taps_(*volume(p.window.kernel))
        , group_channels_(p.channels / p.groups)
        , group_filters_(p.filters / p.groups) {
        const auto weights = product_weights(p, w);
        const auto inner = taps_ * group_channels_;
        for (std::int64_t g = 0; g < p.groups; ++g) {
            products_.push_back(
                    std::make_unique<const integer_product>(integer_product::problem {p.x_is_signed, rows_, inner,
                                                                    group_filters_, p.x_zero_point, zero_points_of(g)},
                            weights.data() + g * inner * group_filters_));
            const auto &bias = products_.back()->bias();
            bias_.insert(bias_.end(), bias.begin(), bias.end());
        }
    }

    const std::vector<std::int32_t> &bias() const override { return bias_; }

    /// The im2col matrix, the sums of a group, and the scratch memory of its product.
    std::size_t scratch_bytes() const override { return product_scratch() + products_.front()->scratch_bytes(); }

    void run(const void *x, std::int32_t *y, std::byte *scratch) const override {
        const auto x_image = *volume(p_.window.x) * p_.channels;
        for (std::int64_t image = 0; image < p_.batch; ++image)
            for (std::int64_t g = 0; g < p_.groups; ++g)
                run_group(static_cast<const std::byte *>(x) + image * x_image + g * group_channels_, g,
                        y + image * rows_ * p_.filters + g * group_filters_, scratch);
    }

  private:
    static constexpr std::size_t aligned(std::int64_t bytes) {
        return (static_cast<std::size_t>(bytes) + 63) / 64 * 64;
    }
    std::size_t result_offset() const { return aligned(rows_ * taps_ * group_channels_); }
    std::size_t product_scratch() const { return result_offset() + aligned(rows_ * group_filters_ * 4); }

    std::vector<std::int32_t> zero_points_of(std::int64_t group) const {
        const auto &all = p_.w_zero_points;
        const bool is_one = all.size() <= 1;
        const auto begin = all.begin() + (is_one ? 0 : group * group_filters_);
        return {begin, is_one ? all.end() : begin + group_filters_};
    }

    void run_group(const std::byte *x, std::int64_t group, std::int32_t *y, std::byte *scratch) const {
        auto *result = reinterpret_cast<std::int32_t *>(scratch + result_offset());
        gather(x, scratch);
        const auto &product = *products_[static_cast<std::size_t>(group)];
        product.run(scratch, p_.groups == 1 ? y : result, scratch + product_scratch());
        if (p_.groups == 1) return;
        for (std::int64_t r = 0; r < rows_; ++r)
            std::copy_n(result + r * group_filters_, group_filters_, y + r * p_.filters);
    }

    void gather(const std::byte *x, std::byte *to) const {
        const auto row_bytes = taps_ * group_channels_;
        parallel::for_each_part(rows_, parallel::parts_for_items(rows_, rows_ * row_bytes), [&](parallel::range part) {
            for (auto r = part.begin; r < part.end; ++r)
                for (std::int64_t tap = 0; tap < taps_; ++tap)
                    copy_channels(x, r, tap, to + r * row_bytes + tap * group_channels_);
        });
    }

    /// Copies the channels of x that one tap of the window at position `row` of y covers. Padding is the zero point.
    void copy_channels(const std::byte *x, std::int64_t row, std::int64_t tap, std::byte *to) const {
        const auto &w = p_.window;
        const auto count = static_cast<std::size_t>(group_channels_);
        std::int64_t offset = 0, stride = p_.channels;
        for (auto d = w.rank(); d-- > 0; row /= w.y[d], tap /= w.kernel[d], stride *= w.x[d]) {
            const auto position = w.position(d, row % w.y[d], tap % w.kernel[d]);
            if (position < 0 || position >= w.x[d]) {
                std::memset(to, p_.x_zero_point, count);
                return;
            }
            offset += position * stride;
        }
        std::memcpy(to, x + offset, count);
    }

    problem p_;
    std::int64_t rows_, taps_, group_channels_, group_filters_;
    std::vector<std::int32_t> bias_;
    std::vector<std::unique_ptr<const integer_product>> products_; // one per group
};

} // namespace

std::vector<std::int8_t> product_weights(const problem &p, const std::int8_t *w) {
    const auto taps = *volume(p.window.kernel), channels = p.channels / p.groups, filters = p.filters / p.groups;
    std::vector<std::int8_t> rows;
    rows.reserve(static_cast<std::size_t>(p.filters * channels * taps));
    for (std::int64_t g = 0; g < p.groups; ++g)
        for (std::int64_t tap = 0; tap < taps; ++tap)
            for (std::int64_t c = 0; c < channels; ++c)
                for (std::int64_t f = 0; f < filters; ++f)
                    rows.push_back(w[((g * filters + f) * channels + c) * taps + tap]);
    return rows;
}

std::unique_ptr<const integer_sums> make_im2col_convolution(const problem &p, const std::int8_t *w) {
    return std::make_unique<im2col_convolution>(p, w);
}

std::unique_ptr<const integer_sums> make_convolution(const problem &p, const std::int8_t *w) {
    auto direct = make_direct_convolution(p, w);
    return direct ? std::move(direct) : make_im2col_convolution(p, w);
}

} // namespace dynquant::layers

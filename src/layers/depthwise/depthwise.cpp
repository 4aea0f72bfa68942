#include "layers/depthwise/depthwise.hpp"

#include <algorithm>
#include <atomic>
#include <cstring>
#include <vector>

#include "parallel/parallel.hpp"
#include "parallel/pool.hpp"
#include "quantization/shape.hpp"

namespace dynquant::layers {
namespace {

depthwise_function depthwise_function_for(isa value) {
#if defined(__x86_64__)
    if (value >= isa::avx512) return avx512_depthwise;
    if (value >= isa::avx2) return avx2_depthwise;
#endif
    return scalar_depthwise;
}

/// A line: all positions along the last spatial dimension.
class depthwise_convolution final : public integer_sums {
  public:
    depthwise_convolution(const integer_convolution &p, const std::int8_t *w)
        : p_(p)
        , taps_(*volume(p.window.kernel))
        , even_taps_((taps_ + 1) / 2 * 2)
        , padded_channels_((p.channels + 15) / 16 * 16)
        , last_(p.window.rank() - 1)
        , weights_(static_cast<std::size_t>(even_taps_ * padded_channels_))
        , weight_sums_(static_cast<std::size_t>(p.channels))
        , compute_(depthwise_function_for(best_isa())) {
        const auto &zero_points = p.w_zero_points;
        for (std::int64_t c = 0; c < p.channels; ++c)
            for (std::int64_t t = 0; t < taps_; ++t) {
                const auto at = static_cast<std::size_t>(c);
                const auto zero_point = zero_points.empty() ? 0 : zero_points[zero_points.size() == 1 ? 0 : at];
                const auto weight = w[c * taps_ + t] - zero_point;
                weights_[static_cast<std::size_t>((t / 2 * padded_channels_ + c) * 2 + t % 2)] =
                        static_cast<std::int16_t>(weight); // of -255 to 255
                weight_sums_[at] += weight;
            }
        interior_ = find_interior();
    }

    const std::vector<std::int32_t> &weight_sums() const override { return weight_sums_; }
    std::size_t scratch_bytes() const override { return 0; }

    void run(const void *x, std::int32_t x_zero_point, std::int32_t *y, std::byte *) const override {
        for_each_line(x, x_zero_point, 0, [&](line_workspace &work, const std::byte *image, std::int64_t line) {
            compute_line(work, image, line % lines(), y + line * columns() * p_.channels);
        });
    }

    bool computes_blocks() const override { return true; }

    void run_blocks(const void *x, std::int32_t x_zero_point, const block_consumer &consume) const override {
        const auto sums = static_cast<std::size_t>(columns() * p_.channels);
        for_each_line(x, x_zero_point, sums, [&](line_workspace &work, const std::byte *image, std::int64_t line) {
            compute_line(work, image, line % lines(), work.sums.data());
            consume({line * columns(), (line + 1) * columns()}, work.sums.data());
        });
    }

  private:
    /// The memory of one part of a run.
    struct line_workspace {
        std::vector<std::byte> padding; // a line of x's zero point, or the channels of one position
        std::vector<const std::byte *> bases, taps;
        std::vector<std::int32_t> sums;
    };
    using run_workspace = std::vector<line_workspace>;

    std::int64_t columns() const { return p_.window.y[last_]; }
    std::int64_t lines() const { return *volume(p_.window.y) / columns(); }
    std::int64_t x_line_bytes() const { return p_.window.x[last_] * p_.channels; }

    /// Columns of y whose window lies in x along the last dimension.
    parallel::range find_interior() const {
        const auto &w = p_.window;
        const auto is_inside = [&](std::int64_t column) {
            return w.position(last_, column, 0) >= 0 && w.position(last_, column, w.kernel[last_] - 1) < w.x[last_];
        };
        std::int64_t begin = 0;
        while (begin < columns() && !is_inside(begin))
            ++begin;
        auto end = begin;
        while (end < columns() && is_inside(end))
            ++end;
        return {begin, end};
    }

    template <typename Compute>
    void for_each_line(const void *x, std::int32_t x_zero_point, std::size_t sums, const Compute &compute) const {
        const auto count = p_.batch * lines(), image_bytes = *volume(p_.window.x) * p_.channels;
        const auto parts = parallel::parts_for_items(count, count * columns() * p_.channels * (taps_ / 4 + 1));
        auto works = idle_.take([] { return std::make_unique<run_workspace>(); });
        prepare(*works, static_cast<std::size_t>(parts), x_zero_point, sums);
        std::atomic<std::size_t> next = 0;
        parallel::for_each_part(count, parts, [&](parallel::range part) {
            auto &work = (*works)[next.fetch_add(1, std::memory_order_relaxed)];
            for (auto line = part.begin; line < part.end; ++line)
                compute(work, static_cast<const std::byte *>(x) + line / lines() * image_bytes, line);
        });
        idle_.give_back(std::move(works));
    }

    /// Allocates here what the parts use: they must not throw.
    void prepare(run_workspace &works, std::size_t parts, std::int32_t x_zero_point, std::size_t sums) const {
        if (works.size() < parts) works.resize(parts);
        for (std::size_t i = 0; i < parts; ++i) {
            auto &work = works[i];
            work.padding.assign(static_cast<std::size_t>(std::max(x_line_bytes(), p_.channels)),
                    static_cast<std::byte>(x_zero_point));
            work.bases.reserve(static_cast<std::size_t>(taps_ / p_.window.kernel[last_]));
            work.taps.resize(static_cast<std::size_t>(even_taps_));
            if (work.sums.size() < sums) work.sums.resize(sums);
        }
    }

    void compute_line(line_workspace &work, const std::byte *image, std::int64_t line, std::int32_t *y) const {
        find_bases(work, image, line);
        for (std::int64_t c = 0; c < interior_.begin; ++c)
            compute_span(work, {c, c + 1}, y);
        if (interior_.begin < interior_.end) compute_span(work, interior_, y);
        for (auto c = interior_.end; c < columns(); ++c)
            compute_span(work, {c, c + 1}, y);
    }

    /// The lines of x that the window meets, in the order of its taps; one of padding where it leaves x.
    void find_bases(line_workspace &work, const std::byte *image, std::int64_t line) const {
        const auto &w = p_.window;
        work.bases.clear();
        for (std::int64_t outer = 0; outer < taps_ / w.kernel[last_]; ++outer) {
            auto position = line, tap = outer;
            std::int64_t offset = 0, stride = x_line_bytes();
            bool is_padding = false;
            for (auto d = last_; d-- > 0;) {
                const auto at = w.position(d, position % w.y[d], tap % w.kernel[d]);
                is_padding = is_padding || at < 0 || at >= w.x[d];
                offset += at * stride;
                stride *= w.x[d];
                position /= w.y[d];
                tap /= w.kernel[d];
            }
            work.bases.push_back(is_padding ? work.padding.data() : image + offset);
        }
    }

    void compute_span(line_workspace &work, parallel::range columns, std::int32_t *y) const {
        const auto &w = p_.window;
        auto tap = work.taps.begin();
        for (const auto *base : work.bases)
            for (std::int64_t k = 0; k < w.kernel[last_]; ++k) {
                const auto at = w.position(last_, columns.begin, k);
                *tap++ = at < 0 || at >= w.x[last_] ? work.padding.data() : base + at * p_.channels;
            }
        if (even_taps_ > taps_) *tap = work.taps.front(); // by a weight of 0
        compute_({work.taps.data(), even_taps_, columns.end - columns.begin, w.strides[last_] * p_.channels,
                weights_.data(), p_.channels, padded_channels_, p_.x_is_signed, y + columns.begin * p_.channels});
    }

    integer_convolution p_;
    std::int64_t taps_, even_taps_, padded_channels_;
    std::size_t last_; // spatial dimension
    std::vector<std::int16_t> weights_;
    std::vector<std::int32_t> weight_sums_;
    depthwise_function compute_;
    parallel::range interior_ = {};
    mutable parallel::object_pool<run_workspace> idle_;
};

} // namespace

std::unique_ptr<const integer_sums> make_depthwise_convolution(const integer_convolution &p, const std::int8_t *w) {
    if (p.groups != p.channels || p.filters != p.channels || p.channels < 2) return nullptr;
    return std::make_unique<depthwise_convolution>(p, w);
}

} // namespace dynquant::layers

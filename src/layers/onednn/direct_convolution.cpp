// Convolution by oneDNN without its zero points: x is padded with its zero point, and the bias subtracts it.
#include <cstring>

#include "layers/onednn/int8_primitive.hpp"
#include "layers/onednn/onednn.hpp"
#include "parallel/parallel.hpp"
#include "quantization/onednn_limits.hpp"
#include "quantization/shape.hpp"

namespace dynquant::layers {
namespace {

using problem = integer_convolution;
using desc = dnnl::memory::desc;

/// The descriptor of a channels-last tensor. oneDNN's logical order is batch, channels, spatial dimensions.
desc channels_last(std::int64_t batch, std::int64_t channels, const dims &spatial, dnnl::memory::data_type type) {
    dims shape {batch, channels}, memory_order {batch};
    shape.insert(shape.end(), spatial.begin(), spatial.end());
    memory_order.insert(memory_order.end(), spatial.begin(), spatial.end());
    memory_order.push_back(channels);
    auto strides = row_major(memory_order);
    strides.insert(strides.begin() + 1, strides.back());
    strides.pop_back();
    return {shape, type, strides};
}

int8_primitive primitive_of(const problem &p, const std::int8_t *w) {
    using type = dnnl::memory::data_type;
    const auto &window = p.window;
    dims weights {p.filters / p.groups, p.channels / p.groups};
    if (p.groups > 1) weights.insert(weights.begin(), p.groups);
    weights.insert(weights.end(), window.kernel.begin(), window.kernel.end());
    auto dilations = window.dilations; // oneDNN counts the elements between taps
    for (auto &d : dilations)
        --d;
    const dnnl::convolution_forward::primitive_desc description(cpu_engine(), dnnl::prop_kind::forward_inference,
            dnnl::algorithm::convolution_direct,
            channels_last(p.batch, p.channels, window.x, p.x_is_signed ? type::s8 : type::u8),
            desc(weights, type::s8, dnnl::memory::format_tag::any),
            channels_last(p.batch, p.filters, window.y, type::s32), window.strides, dilations, window.pads_begin,
            window.pads_end, user_scratchpad());
    return {description, dnnl::convolution_forward(description), desc(weights, type::s8, row_major(weights)), w};
}

/// Copies x into a larger tensor whose padding is the zero point.
class padding {
  public:
    explicit padding(const problem &p)
        : batch_(p.batch)
        , x_(p.window.x)
        , begin_(p.window.pads_begin)
        , padded_(p.window.x) {
        for (std::size_t d = 0; d < padded_.size(); ++d)
            padded_[d] += begin_[d] + p.window.pads_end[d];
        for (auto *extents : {&x_, &padded_}) // merge spatial columns and channels
            extents->back() *= p.channels;
        begin_.back() *= p.channels;
    }

    std::size_t bytes() const { return static_cast<std::size_t>(batch_ * *volume(padded_)); }

    void run(const void *x, std::int32_t value, std::byte *to) const {
        const auto length = x_.back(), padded_length = padded_.back(), rows = *volume(padded_) / padded_length;
        const auto parts = parallel::parts_for_items(batch_ * rows, batch_ * rows * padded_length);
        parallel::for_each_part(batch_ * rows, parts, [&](parallel::range part) {
            for (auto r = part.begin; r < part.end; ++r) {
                std::memset(to + r * padded_length, value, static_cast<std::size_t>(padded_length));
                if (const auto from = source(r % rows); from >= 0)
                    std::memcpy(to + r * padded_length + begin_.back(),
                            static_cast<const std::byte *>(x) + (r / rows * *volume(x_) + from),
                            static_cast<std::size_t>(length));
            }
        });
    }

  private:
    /// The offset in x of a padded row, or -1 where the whole row is padding.
    std::int64_t source(std::int64_t row) const {
        std::int64_t offset = 0, stride = x_.back();
        for (auto d = x_.size() - 1; d-- > 0; row /= padded_[d]) {
            const auto position = row % padded_[d] - begin_[d];
            if (position < 0 || position >= x_[d]) return -1;
            offset += position * stride;
            stride *= x_[d];
        }
        return offset;
    }

    std::int64_t batch_;
    dims x_, begin_, padded_;
};

/// The sum of each filter's weights.
std::vector<std::int32_t> weight_sums_of(const problem &p, const std::int8_t *w) {
    const auto taps = p.channels / p.groups * *volume(p.window.kernel);
    std::vector<std::int32_t> result;
    for (std::int64_t f = 0; f < p.filters; ++f) {
        std::int64_t sum = 0;
        for (std::int64_t k = 0; k < taps; ++k)
            sum += w[f * taps + k];
        result.push_back(static_cast<std::int32_t>(static_cast<std::uint32_t>(sum)));
    }
    return result;
}

class direct_convolution final : public integer_sums {
  public:
    direct_convolution(const problem &p, const std::int8_t *w)
        : weight_sums_(weight_sums_of(p, w))
        , needs_padding_(p.x_has_zero_point && p.window.is_padded())
        , padding_(p)
        , primitive_(primitive_of(needs_padding_ ? padded(p) : p, w)) {}

    const std::vector<std::int32_t> &weight_sums() const override { return weight_sums_; }
    std::size_t scratch_bytes() const override { return needs_padding_ ? padding_.bytes() : 0; }

    void run(const void *x, std::int32_t x_zero_point, std::int32_t *y, std::byte *scratch) const override {
        if (!needs_padding_) return primitive_.run(x, y);
        padding_.run(x, x_zero_point, scratch);
        primitive_.run(scratch, y);
    }

  private:
    static problem padded(problem p) {
        auto &w = p.window;
        for (std::size_t d = 0; d < w.rank(); ++d)
            w.x[d] = w.padded(d);
        w.pads_begin = w.pads_end = dims(w.rank(), 0);
        return p;
    }

    std::vector<std::int32_t> weight_sums_;
    bool needs_padding_;
    padding padding_;
    int8_primitive primitive_;
};

bool is_exact(const problem &p, const std::int8_t *w) {
    const auto taps = p.channels / p.groups * *volume(p.window.kernel), filters = p.filters / p.groups;
    const auto rows = product_weights(p, w);
    for (std::int64_t g = 0; g < p.groups; ++g)
        if (exact_slices(rows.data() + g * taps * filters, taps, filters).size() > 1) return false;
    return true;
}

/// Maximum columns for oneDNN, which generates about 100 bytes of code per column: more would take seconds and
/// megabytes.
constexpr std::int64_t max_columns = std::int64_t {1} << 16;

/// Whether all extents fit oneDNN's int, and the generated code stays small.
bool is_of_a_size_for_onednn(const problem &p) {
    const auto &w = p.window;
    for (std::size_t d = 0; d < w.rank(); ++d) {
        if (!fits_int(dims {w.padded(d), w.covered(d), w.strides[d]})) return false;
        if (d + 1 == w.rank() && w.padded(d) > max_columns) return false;
    }
    return fits_int(dims {p.batch, p.channels, p.filters});
}

} // namespace

std::unique_ptr<const integer_sums> make_direct_convolution(const problem &p, const std::int8_t *w) {
    const bool has_zero_points = std::ranges::any_of(p.w_zero_points, [](std::int32_t zp) { return zp != 0; });
    if (!int8_is_exact() || has_zero_points || p.channels == 0 || p.window.rank() > 3 || !is_of_a_size_for_onednn(p)
            || !is_exact(p, w))
        return nullptr;
    try {
        return std::make_unique<direct_convolution>(p, w);
    } catch (const dnnl::error &e) {
        if (e.status == dnnl_unimplemented) return nullptr;
        throw;
    }
}

} // namespace dynquant::layers

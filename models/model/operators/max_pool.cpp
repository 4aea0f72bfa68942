// MaxPool: the maximum of each window. Padding is ignored.
#include <algorithm>
#include <array>
#include <limits>

#include "model/operators/element_types.hpp"
#include "model/operators/operators.hpp"
#include "model/window.hpp"
#include "parallel/parallel.hpp"
#include "quantization/shape.hpp"

namespace dynquant::models {
namespace {

layers::window pool_window(const op_node &n) {
    const auto &x = n.shape(0);
    if (x.size() < 3)
        n.refuse(status::invalid_shape, n.name(0), ": expected a batch, channels and spatial dimensions, given shape ",
                to_string(x));
    const auto kernel = n.integers("kernel_shape", {});
    if (kernel.size() != x.size() - 2)
        n.refuse(status::invalid_arguments, "attribute 'kernel_shape': expected ", x.size() - 2, " values, given ",
                kernel.size());
    return window_of(n, x, kernel);
}

/// The maximum, or b where either is NaN, as MAXPS and ONNX Runtime have it.
template <typename T>
T larger(T a, T b) {
    return b <= a ? a : b;
}

/// Plane by plane and row by row. A plane is a channel of an image; a row is the last dimension of y, whose windows
/// cover the same rows of x.
template <typename T>
class max_pool {
  public:
    max_pool(layers::window w, std::int64_t planes)
        : w_(std::move(w))
        , planes_(planes)
        , last_(w_.rank() - 1)
        , rows_(*volume(w_.y) / w_.y[last_])
        , x_plane_(*volume(w_.x))
        , y_plane_(*volume(w_.y))
        , x_strides_(row_major(w_.x)) {
        // The outputs of a row whose windows do not touch the padding along the last dimension.
        const auto past = w_.x[last_]
                - w_.position(last_, 0, w_.kernel[last_] - 1); // from the last tap of output 0 to the end of x
        const auto stride = w_.strides[last_], length = w_.y[last_];
        const auto begin = ceil_div(w_.pads_begin[last_], stride),
                   end = ceil_div(std::max<std::int64_t>(past, 0), stride);
        if (begin >= end) return;
        whole_begin_ = std::min(begin, length);
        whole_end_ = std::clamp(end, whole_begin_, length);
    }

    void run(const T *x, T *y) const {
        std::int64_t taps = 1; // rows of x per window, limited to avoid overflow: 2^16 are enough work for any split
        for (std::size_t d = 0; d < last_; ++d)
            taps = std::min({taps * std::min(w_.kernel[d], w_.x[d]), std::int64_t {1} << 16});
        const auto work = planes_ * rows_ * w_.y[last_] * taps;
        parallel::for_each_part(planes_, parallel::parts_for_items(planes_, work), [&](parallel::range part) {
            for (auto p = part.begin; p < part.end; p += planes_per_pass)
                for (std::int64_t r = 0; r < rows_; ++r)
                    pool_row(x + p * x_plane_, r, y + p * y_plane_, std::min(planes_per_pass, part.end - p));
        });
    }

  private:
    /// Planes that share the computation of a row's windows.
    static constexpr std::int64_t planes_per_pass = 16;

    /// Computes a row of y in each of the planes.
    void pool_row(const T *x, std::int64_t row, T *y, std::int64_t planes) const {
        y += row * w_.y[last_];
        for (std::int64_t p = 0; p < planes; ++p)
            std::fill_n(y + p * y_plane_, w_.y[last_], lowest);
        std::array<layers::window::taps, max_rank> taps;
        std::array<std::int64_t, max_rank> at;
        std::int64_t rows = 1; // rows of x in the window
        for (auto d = last_; d-- > 0; row /= w_.y[d]) {
            at[d] = row % w_.y[d];
            taps[d] = w_.taps_inside(d, at[d]);
            rows *= taps[d].end - taps[d].begin;
        }
        for (std::int64_t r = 0; r < rows; ++r) {
            std::int64_t offset = 0, rest = r;
            for (auto d = last_; d-- > 0;) {
                const auto count = taps[d].end - taps[d].begin;
                offset += w_.position(d, at[d], taps[d].begin + rest % count) * x_strides_[d];
                rest /= count;
            }
            for (std::int64_t p = 0; p < planes; ++p)
                update_row(x + p * x_plane_ + offset, y + p * y_plane_);
        }
    }

    /// Updates the maxima in a row of y with one row of x.
    void update_row(const T *x, T *y) const {
        // Local copies, as a store of bytes may alias any member.
        const auto begin = whole_begin_, end = whole_end_, length = w_.y[last_], stride = w_.strides[last_],
                   taps = begin < end ? w_.kernel[last_] : 0;
        for (std::int64_t i = 0; i < begin; ++i)
            update_padded(x, i, y[i]);
        for (std::int64_t k = 0; k < taps; ++k) {
            const auto *from = x + w_.position(last_, begin, k);
            for (auto i = begin; i < end; ++i)
                y[i] = larger(y[i], from[(i - begin) * stride]);
        }
        for (auto i = end; i < length; ++i)
            update_padded(x, i, y[i]);
    }

    void update_padded(const T *x, std::int64_t i, T &y) const {
        const auto taps = w_.taps_inside(last_, i);
        for (auto k = taps.begin; k < taps.end; ++k)
            y = larger(y, x[w_.position(last_, i, k)]);
    }

    /// The initial maximum, and the result of a window of only padding.
    static constexpr T lowest = std::numeric_limits<T>::has_infinity ? -std::numeric_limits<T>::infinity()
                                                                     : std::numeric_limits<T>::lowest();

    layers::window w_;
    std::int64_t planes_;
    std::size_t last_; // dimension
    std::int64_t rows_, x_plane_, y_plane_;
    dims x_strides_;
    std::int64_t whole_begin_ = 0, whole_end_ = 0;
};

template <typename T>
prepared_node prepare_typed(const op_node &n) {
    const max_pool<T> pool(pool_window(n), n.shape(0)[0] * n.shape(0)[1]);
    auto run = [pool](const stage_arguments &args) {
        pool.run(static_cast<const T *>(args.inputs[0]), static_cast<T *>(args.output));
    };
    return {run, 1};
}

} // namespace

tensor_type infer_max_pool(const op_node &n) {
    if (n.integer("storage_order", 0) != 0)
        n.refuse(status::unimplemented, "attribute 'storage_order': expected 0, given ", n.integer("storage_order", 0));
    dims shape {n.shape(0).begin(), n.shape(0).begin() + std::min<std::ptrdiff_t>(2, std::ssize(n.shape(0)))};
    const auto w = pool_window(n);
    shape.insert(shape.end(), w.y.begin(), w.y.end());
    return {n.at(0).type, shape};
}

prepared_node prepare_max_pool(const op_node &n, const options &) {
    return dispatch_type<float, std::uint8_t, std::int8_t>(
            n, [&](auto element) { return prepare_typed<decltype(element)>(n); });
}

} // namespace dynquant::models

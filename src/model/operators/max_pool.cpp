// MaxPool: the largest of each window. What is padding is not looked at.
#include <algorithm>
#include <array>
#include <limits>

#include "model/operators/operators.hpp"
#include "model/window.hpp"
#include "quantization/shape.hpp"

namespace dynquant::models {
namespace {

window pool_window(const op_node &n) {
    const auto &x = n.shape(0);
    if (x.size() < 3)
        n.refuse(dnnl_invalid_shape, n.name(0), ": expected a batch, channels and spatial dimensions, given shape ",
                to_string(x));
    const auto kernel = n.integers("kernel_shape", {});
    if (kernel.size() != x.size() - 2)
        n.refuse(dnnl_invalid_arguments, "attribute 'kernel_shape': expected ", x.size() - 2, " values, given ",
                kernel.size());
    return window_of(n, x, kernel);
}

/// The largest within reach of the window at y's position `at`. NaN is the largest.
template <typename T>
T largest(const window &w, const dims &x_strides, const T *x, std::int64_t at) {
    std::array<std::int64_t, max_rank> corner;
    for (auto d = w.rank(); d-- > 0; at /= w.y[d])
        corner[d] = at % w.y[d];
    T result = std::numeric_limits<T>::lowest();
    if constexpr (std::numeric_limits<T>::has_infinity) result = -std::numeric_limits<T>::infinity();
    const auto taps = *volume(w.kernel);
    for (std::int64_t tap = 0; tap < taps; ++tap) {
        std::int64_t offset = 0, rest = tap;
        bool inside = true;
        for (auto d = w.rank(); d-- > 0; rest /= w.kernel[d]) {
            const auto position = w.position(d, corner[d], rest % w.kernel[d]);
            inside &= position >= 0 && position < w.x[d];
            offset += position * x_strides[d];
        }
        if (inside && !(x[offset] <= result)) result = x[offset];
    }
    return result;
}

template <typename T>
prepared_node prepare_typed(const op_node &n) {
    const auto w = pool_window(n);
    const auto planes = n.shape(0)[0] * n.shape(0)[1], plane = *volume(w.x), outputs = *volume(w.y);
    const auto strides = row_major(w.x);
    auto run = [=](const stage_arguments &args) {
        const auto *x = static_cast<const T *>(args.inputs[0]);
        auto *y = static_cast<T *>(args.output);
        for (std::int64_t p = 0; p < planes; ++p)
            for (std::int64_t i = 0; i < outputs; ++i)
                y[p * outputs + i] = largest(w, strides, x + p * plane, i);
    };
    return {make_stage(run), {0}};
}

} // namespace

tensor_type infer_max_pool(const op_node &n) {
    if (n.integer("storage_order", 0) != 0)
        n.refuse(dnnl_unimplemented, "attribute 'storage_order': expected 0, given ", n.integer("storage_order", 0));
    dims shape {n.shape(0).begin(), n.shape(0).begin() + std::min<std::ptrdiff_t>(2, std::ssize(n.shape(0)))};
    const auto w = pool_window(n);
    shape.insert(shape.end(), w.y.begin(), w.y.end());
    return {n.at(0).type, shape};
}

prepared_node prepare_max_pool(const op_node &n, const settings &) {
    switch (n.at(0).type) {
        case onnx::type::uint8: return prepare_typed<std::uint8_t>(n);
        case onnx::type::int8: return prepare_typed<std::int8_t>(n);
        default: return prepare_typed<float>(n);
    }
}

} // namespace dynquant::models

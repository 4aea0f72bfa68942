// Add and Mul, with numpy's broadcasting.
#include <algorithm>
#include <functional>
#include <type_traits>

#include "model/operators/element_types.hpp"
#include "model/operators/operators.hpp"
#include "quantization/shape.hpp"

namespace dynquant::models {
namespace {

/// Integers wrap. float16 is computed in float and rounded to float16. That equals the exact result rounded once, as a
/// float has 24 = 2 * 11 + 2 bits.
template <typename T, typename Operation>
T combine(const Operation &operation, T a, T b) {
    if constexpr (std::is_integral_v<T>)
        return static_cast<T>(operation(static_cast<std::uint32_t>(a), static_cast<std::uint32_t>(b)));
    else if constexpr (std::is_same_v<T, float16>)
        return float16::from(operation(a.value(), b.value()));
    else
        return operation(a, b);
}

/// The strides of a tensor that is broadcast to a shape: 0 along broadcast dimensions.
dims broadcast_strides(const dims &shape, const dims &to) {
    auto strides = row_major(shape);
    for (std::size_t d = 0; d < shape.size(); ++d)
        if (shape[d] == 1) strides[d] = 0;
    strides.insert(strides.begin(), to.size() - shape.size(), 0);
    return strides;
}

/// Calls row(offset in a, offset in b, index) for each row of a shape. A row is the last dimension.
struct broadcast {
    broadcast(const op_node &n, const dims &to)
        : shape(to)
        , a(broadcast_strides(n.shape(0), to))
        , b(broadcast_strides(n.shape(1), to)) {
        if (shape.empty()) shape = a = b = {1};
        count = *volume({shape.begin(), shape.end() - 1});
    }

    template <typename Row>
    void rows(const Row &row) const {
        const auto outer = shape.size() - 1;
        for (std::int64_t r = 0; r < count; ++r) {
            std::int64_t at_a = 0, at_b = 0, rest = r;
            for (auto d = outer; d-- > 0; rest /= shape[d]) {
                at_a += rest % shape[d] * a[d];
                at_b += rest % shape[d] * b[d];
            }
            row(at_a, at_b, r);
        }
    }

    dims shape, a, b;
    std::int64_t count = 0; // of rows
};

template <typename T, typename Operation>
prepared_node prepare_typed(const op_node &n, const Operation &operation) {
    const broadcast walk(n, infer_broadcast(n).shape);
    auto run = [=](const stage_arguments &args) {
        const auto *a = static_cast<const T *>(args.inputs[0]), *b = static_cast<const T *>(args.inputs[1]);
        auto *y = static_cast<T *>(args.output);
        const auto length = walk.shape.back(), step_a = walk.a.back(), step_b = walk.b.back();
        walk.rows([&](std::int64_t at_a, std::int64_t at_b, std::int64_t row) {
            for (std::int64_t i = 0; i < length; ++i)
                y[row * length + i] = combine(operation, a[at_a + i * step_a], b[at_b + i * step_b]);
        });
    };
    return {make_stage(run), {0, 1}};
}

template <typename Operation>
prepared_node prepare(const op_node &n, const Operation &operation) {
    return dispatch_type<float, float16, std::int32_t, std::uint8_t, std::int8_t>(
            n, [&](auto element) { return prepare_typed<decltype(element)>(n, operation); });
}

} // namespace

tensor_type infer_broadcast(const op_node &n) {
    const auto &a = n.shape(0), &b = n.shape(1);
    if (n.at(1).type != n.at(0).type)
        n.refuse(status::invalid_data_type, n.name(1), ": expected the type of ", n.name(0), ", ",
                onnx::name_of(n.at(0).type), ", given ", onnx::name_of(n.at(1).type));
    dims shape(std::max(a.size(), b.size()), 1);
    for (std::size_t d = 0; d < shape.size(); ++d) { // from the last dimension
        const auto of_a = d < a.size() ? a[a.size() - 1 - d] : 1, of_b = d < b.size() ? b[b.size() - 1 - d] : 1;
        if (of_a != of_b && of_a != 1 && of_b != 1)
            n.refuse(status::invalid_shape, n.name(1), ": expected a shape that can be broadcast with that of ",
                    n.name(0), ", ", to_string(a), ", given ", to_string(b));
        shape[shape.size() - 1 - d] = of_a == 1 ? of_b : of_a;
    }
    return {n.at(0).type, shape};
}

prepared_node prepare_add(const op_node &n, const settings &) {
    return prepare(n, std::plus {});
}

prepared_node prepare_mul(const op_node &n, const settings &) {
    return prepare(n, std::multiplies {});
}

} // namespace dynquant::models

// Add and Mul, with numpy's broadcasting.
#include <functional>
#include <type_traits>

#include "model/operators/element_types.hpp"
#include "model/operators/operators.hpp"
#include "quantization/broadcast.hpp"
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

template <typename T, typename Operation>
prepared_node prepare_typed(const op_node &n, const Operation &operation) {
    auto rows = infer_broadcast(n).shape; // a row is the last dimension
    auto strides_a = broadcast_strides(n.shape(0), rows), strides_b = broadcast_strides(n.shape(1), rows);
    if (rows.empty()) rows = strides_a = strides_b = {1};
    const auto columns = rows.back();
    rows.pop_back();
    auto run = [=, count = *volume(rows)](const stage_arguments &args) {
        // Local copies, as a store of bytes may alias any member.
        const auto length = columns, step_a = strides_a.back(), step_b = strides_b.back();
        auto *y = static_cast<T *>(args.output);
        for (std::int64_t row = 0; row < count; ++row, y += length) {
            const auto *a = static_cast<const T *>(args.inputs[0]) + offset_of(row, rows, strides_a);
            const auto *b = static_cast<const T *>(args.inputs[1]) + offset_of(row, rows, strides_b);
            for (std::int64_t i = 0; i < length; ++i)
                y[i] = combine(operation, a[i * step_a], b[i * step_b]);
        }
    };
    return {run, 2};
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
    const auto shape = broadcast_shape(a, b);
    if (!shape)
        n.refuse(status::invalid_shape, n.name(1), ": expected a shape that can be broadcast with that of ", n.name(0),
                ", ", to_string(a), ", given ", to_string(b));
    return {n.at(0).type, *shape};
}

prepared_node prepare_add(const op_node &n, const options &) {
    return prepare(n, std::plus {});
}

prepared_node prepare_mul(const op_node &n, const options &) {
    return prepare(n, std::multiplies {});
}

} // namespace dynquant::models

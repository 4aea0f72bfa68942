#include "model/operators/products.hpp"

#include <algorithm>

#include "model/operators/operators.hpp"
#include "quantization/broadcast.hpp"
#include "quantization/shape.hpp"

namespace dynquant::models {
namespace {

enum : std::size_t { x, w, x_zero_point, w_zero_point };

/// Zero points of an input: a constant of one value, or a tensor of one of these shapes.
void check_zero_points(const op_node &n, std::size_t input, const std::vector<dims> &shapes) {
    if (!n.has(input)) return;
    const auto &shape = n.constant(input).what.shape;
    if ((volume(shape) == 1 && shape.size() <= 1) || std::ranges::count(shapes, shape) > 0) return;
    std::string others;
    for (const auto &other : shapes)
        others += concat(", or shape ", to_string(other));
    n.refuse(status::invalid_shape, n.name(input), ": expected one value", others, ", given shape ", to_string(shape));
}

void check_x_zero_point(const op_node &n) {
    if (n.has(x_zero_point) && n.at(x_zero_point).type != n.at(x).type)
        n.refuse(status::invalid_data_type, n.name(x_zero_point), ": expected the type of ", n.name(x), ", ",
                onnx::name_of(n.at(x).type), ", given ", onnx::name_of(n.at(x_zero_point).type));
    check_zero_points(n, x_zero_point, {});
}

/// The shapes of zero points per column of MatMulInteger's weights: for all matrices, or for each. A vector is one
/// column.
std::vector<dims> column_shapes(const dims &weights) {
    std::vector<dims> shapes {{weights.size() == 1 ? 1 : weights.back()}};
    if (weights.size() > 2) {
        shapes.push_back(weights);
        shapes.back()[weights.size() - 2] = 1;
    }
    return shapes;
}

/// All but the last two extents.
dims batch_of(const dims &matrices) {
    return {matrices.begin(), matrices.end() - 2};
}

/// The batch that those of both inputs are broadcast to.
dims broadcast_batch(const op_node &n, const dims &a, const dims &b) {
    const auto result = broadcast_shape(a, b);
    if (!result)
        n.refuse(status::invalid_shape, n.name(w), ": expected a batch that can be broadcast with that of ", n.name(x),
                " of shape ", to_string(n.shape(x)), ", given shape ", to_string(n.shape(w)));
    if (!size_in_bytes({onnx::type::uint8, *result}))
        n.refuse(status::invalid_shape, n.name(x), " and ", n.name(w), ": expected a batch of ", size_limit, ", given ",
                to_string(*result), " for shapes ", to_string(n.shape(x)), " and ", to_string(n.shape(w)));
    return *result;
}

/// Throws error unless the padded tensor and the im2col matrix have sizes within size_in_bytes()'s limit.
void check_workspace(const op_node &n, const layers::window &window) {
    const auto &weights = n.shape(w);
    dims padded {n.shape(x)[0], n.shape(x)[1]}, gathered = window.y;
    for (std::size_t d = 0; d < window.rank(); ++d)
        padded.push_back(window.x[d] + window.pads_begin[d] + window.pads_end[d]);
    gathered.insert(gathered.end(), weights.begin() + 2, weights.end());
    gathered.push_back(weights[1]);
    const auto check = [&](const char *what, const dims &shape) {
        if (!size_in_bytes({onnx::type::uint8, shape}))
            n.refuse(status::invalid_shape, n.name(x), ": expected ", what, " of ", size_limit, ", given ",
                    to_string(shape), " for shape ", to_string(n.shape(x)));
    };
    check("a padded tensor", padded);
    check("an im2col matrix", gathered);
}

} // namespace

matrices plan_matrices(const op_node &n) {
    auto a = n.shape(x), b = n.shape(w);
    if (a.empty() || b.empty())
        n.refuse(status::invalid_shape, n.name(a.empty() ? x : w), ": expected rank 1 or more, given a scalar");
    const bool a_is_vector = a.size() == 1, b_is_vector = b.size() == 1;
    if (a_is_vector) a.insert(a.begin(), 1);
    if (b_is_vector) b.push_back(1);
    const auto rows = a[a.size() - 2], inner = a.back(), columns = b.back();
    if (b[b.size() - 2] != inner)
        n.refuse(status::invalid_shape, n.name(w), ": expected ", inner, " rows, the last extent of ", n.name(x),
                " of shape ", to_string(n.shape(x)), ", given shape ", to_string(n.shape(w)));
    const auto batch = broadcast_batch(n, batch_of(a), batch_of(b));

    matrices plan {batch, rows, inner, columns};
    if (!a_is_vector) plan.y.push_back(rows);
    if (!b_is_vector) plan.y.push_back(columns);
    if (volume(batch_of(b)) == 1) { // one matrix of B: A's matrices are stacked to one
        plan.rows = *volume(batch) * rows;
        plan.x_at = plan.w_at = {0};
        return plan;
    }
    const auto count = *volume(batch);
    if (count > 1 << 20)
        n.refuse(status::unimplemented, n.name(w), ": expected at most 1048576 products of matrices, given ", count);
    const auto strides_a = broadcast_strides(batch_of(a), batch), strides_b = broadcast_strides(batch_of(b), batch);
    for (std::int64_t i = 0; i < count; ++i) {
        plan.x_at.push_back(offset_of(i, batch, strides_a));
        plan.w_at.push_back(offset_of(i, batch, strides_b));
    }
    return plan;
}

tensor_type infer_matmul_integer(const op_node &n) {
    n.constant(w); // is one
    const auto plan = plan_matrices(n);
    check_x_zero_point(n);
    check_zero_points(n, w_zero_point, column_shapes(n.shape(w)));
    return {onnx::type::int32, plan.y};
}

convolution_shapes plan_convolution(const op_node &n) {
    const auto &from = n.shape(x), &weights = n.shape(w);
    if (from.size() < 3)
        n.refuse(status::invalid_shape, n.name(x), ": expected a batch, channels and spatial dimensions, given shape ",
                to_string(from));
    if (weights.size() != from.size())
        n.refuse(status::invalid_shape, n.name(w), ": expected rank ", from.size(), ", that of ", n.name(x),
                ", given shape ", to_string(weights));
    const auto groups = n.integer("group", 1), channels = from[1], filters = weights[0];
    if (groups < 1 || channels % groups != 0 || filters % groups != 0)
        n.refuse(status::invalid_arguments, "attribute 'group': expected a divisor of ", channels, " channels and ",
                filters, " filters, given ", groups);
    if (weights[1] != channels / groups)
        n.refuse(status::invalid_shape, n.name(w), ": expected ", channels / groups, " channels, those of ", n.name(x),
                " of shape ", to_string(from), " in ", groups, " groups, given shape ", to_string(weights));
    return {from[0], channels, filters, groups, window_of(n, from, {weights.begin() + 2, weights.end()})};
}

dims convolution_shapes::y() const {
    dims shape {batch, filters};
    shape.insert(shape.end(), window.y.begin(), window.y.end());
    return shape;
}

tensor_type infer_conv_integer(const op_node &n) {
    n.constant(w); // is one
    const auto c = plan_convolution(n);
    check_x_zero_point(n);
    check_zero_points(n, w_zero_point, {dims {c.filters}});
    check_workspace(n, c.window);
    return {onnx::type::int32, c.y()};
}

} // namespace dynquant::models

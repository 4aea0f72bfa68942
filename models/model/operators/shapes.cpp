// Flatten, Reshape and Transpose.
#include <algorithm>
#include <numeric>

#include "layers/layer/permute.hpp"
#include "model/operators/operators.hpp"
#include "model/values.hpp"
#include "quantization/shape.hpp"

namespace dynquant::models {
namespace {

std::vector<std::size_t> order_of(const op_node &n) {
    const auto rank = n.shape(0).size();
    std::vector<std::int64_t> reversed(rank);
    std::iota(reversed.rbegin(), reversed.rend(), 0);
    const auto given = n.integers("perm", reversed);
    if (!std::ranges::is_permutation(given, reversed))
        n.refuse(status::invalid_arguments, "attribute 'perm': expected a permutation of the ", rank, " axes of ",
                n.name(0), ", given one that is none");
    return {given.begin(), given.end()};
}

} // namespace

tensor_type infer_flatten(const op_node &n) {
    const auto &shape = n.shape(0);
    const auto axis = n.axis("axis", n.integer("axis", 1), shape.size(), true);
    const dims before(shape.begin(), shape.begin() + static_cast<std::ptrdiff_t>(axis));
    const dims after(shape.begin() + static_cast<std::ptrdiff_t>(axis), shape.end());
    return {n.at(0).type, {*volume(before), *volume(after)}};
}

tensor_type infer_reshape(const op_node &n) {
    const auto &from = n.shape(0);
    auto shape = values_of<std::int64_t>(n.constant(1));
    const bool zero_is_zero = n.integer("allowzero", 0) != 0;
    if (n.shape(1).size() != 1 || shape.size() > max_rank)
        n.refuse(status::invalid_shape, n.name(1), ": expected a vector of at most ", max_rank,
                " extents, given shape ", to_string(n.shape(1)));
    const auto refuse_values = [&](const auto &...expected) {
        n.refuse(status::invalid_shape, n.name(1), ": expected ", expected..., " for ", n.name(0), " of shape ",
                to_string(from), ", given ", to_string(values_of<std::int64_t>(n.constant(1))));
    };
    for (std::size_t d = 0; d < shape.size(); ++d) {
        if (shape[d] != 0 || zero_is_zero) continue;
        if (d >= from.size()) refuse_values("zeros only in place of its extents");
        shape[d] = from[d];
    }
    const auto open = std::ranges::find(shape, -1);
    if (std::ranges::count(shape, -1) > 1 || std::ranges::any_of(shape, [](auto extent) { return extent < -1; }))
        refuse_values("extents of 0 or more, and -1 at most once,");
    const auto count = *volume(from);
    if (open != shape.end()) {
        *open = 1;
        const auto others = volume(shape).value_or(0);
        if (others == 0 || count % others != 0) refuse_values("extents whose product divides ", count);
        *open = count / others;
    }
    if (volume(shape) != count) refuse_values("extents whose product is ", count);
    return {n.at(0).type, shape};
}

tensor_type infer_transpose(const op_node &n) {
    const auto order = order_of(n);
    dims shape(order.size());
    std::ranges::transform(order, shape.begin(), [&](std::size_t d) { return n.shape(0)[d]; });
    return {n.at(0).type, shape};
}

prepared_node prepare_transpose(const op_node &n, const options &) {
    const layers::permutation elements(n.shape(0), order_of(n), static_cast<std::size_t>(*bits_in(n.at(0).type)) / 8);
    return {[=](const stage_arguments &args) { elements.run(args.inputs[0], args.output); }, 1};
}

} // namespace dynquant::models

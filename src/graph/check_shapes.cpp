// What ports and attributes show together.
#include "graph/attributes.hpp"
#include "graph/check.hpp"
#include "graph/logical_tensor.hpp"
#include "graph/refusal.hpp"

namespace dynquant::graph::core {
namespace {

void check_same_shape(const op_record &op, const c_logical_tensor &src, const c_logical_tensor &dst) {
    if (!rank_known(src) || !rank_known(dst)) return;
    if (src.ndims != dst.ndims)
        refuse(op, dnnl_invalid_shape, "dst: expected the rank of src, ", src.ndims, ", given ", dst.ndims);
    for (int d = 0; d < src.ndims; ++d)
        if (src.dims[d] != unknown && dst.dims[d] != unknown && src.dims[d] != dst.dims[d])
            refuse(op, dnnl_invalid_shape, "dst: expected the dims of src, ", describe_dims(src), ", given ",
                    describe_dims(dst));
}

/// How many scales and zps there have to be.
struct expectation {
    std::int64_t count;
    std::string why;
};

/// The dim that axis means. An unknown rank may be any.
int channel_dim(const op_record &op, const c_logical_tensor &src) {
    if (src.ndims == 0)
        refuse(op, dnnl_invalid_arguments, "qtype: expected per_tensor for a src of rank 0, given per_channel");
    const auto rank = rank_known(src) ? src.ndims : max_rank;
    const auto axis = axis_of(op);
    on_behalf_of(op, [&] { return per_channel(dims(static_cast<size_t>(rank)), axis); }); // throws if out of range
    return static_cast<int>(axis < 0 ? axis + rank : axis);
}

std::optional<expectation> expected_parameters(const op_record &op, const c_logical_tensor &src) {
    if (!is_per_channel(op)) return expectation {1, "qtype per_tensor"};
    const int d = channel_dim(op, src);
    if (!rank_known(src) || src.dims[d] == unknown) return std::nullopt;
    return expectation {src.dims[d], concat("dims[", d, "] of src")};
}

void check_vector(const op_record &op, const char *name, const c_logical_tensor &t) {
    if (!rank_known(t)) return;
    if (t.ndims != 1) refuse(op, dnnl_invalid_shape, name, ": expected a 1-D tensor, given rank ", t.ndims);
    if (strides_known(t) && t.dims[0] > 1 && t.layout.strides[0] != 1)
        refuse(op, dnnl_invalid_shape, name, ": expected stride 1, given ", t.layout.strides[0]);
}

/// The number of scales or zps, given as an input or as a list; nothing when there are none or unknown
/// ones.
template <typename T>
std::optional<std::int64_t> given_parameters(const op_record &op, input position, dnnl_graph_op_attr_t attr) {
    if (const auto *list = find_attribute<std::vector<T>>(op, attr)) return static_cast<std::int64_t>(list->size());
    if (op.inputs.size() <= position || !dims_known(op.inputs[position])) return std::nullopt;
    return op.inputs[position].dims[0];
}

} // namespace

void check_shapes(const op_record &op, const op_schema &schema) {
    const auto &src = op.inputs[input::src], &dst = op.outputs.front();
    check_same_shape(op, src, dst);
    for (size_t i = input::scales; i < op.inputs.size(); ++i)
        check_vector(op, schema.inputs[i].name, op.inputs[i]);

    auto expected = expected_parameters(op, with_dims_from(src, dst));
    const auto expect = [&](const char *name, std::optional<std::int64_t> given) {
        if (given && expected && *given != expected->count)
            refuse(op, dnnl_invalid_shape, name, ": expected ", expected->count,
                    expected->count == 1 ? " element (" : " elements (", expected->why, "), given ", *given);
        // Scales and zps must agree even while nobody knows the channels.
        if (given && !expected) expected = {*given, concat("as many as ", name)};
    };
    expect("scales", given_parameters<float>(op, input::scales, dnnl_graph_op_attr_scales));
    expect("zps", given_parameters<std::int64_t>(op, input::zps, dnnl_graph_op_attr_zps));
}

} // namespace dynquant::graph::core

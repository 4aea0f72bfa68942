// Checks of ports and attributes against each other.
#include "graph/attributes.hpp"
#include "graph/check.hpp"
#include "graph/logical_tensor.hpp"
#include "graph/refusal.hpp"
#include "quantization/data_type.hpp"
#include "quantization/onednn_type.hpp"
#include "quantization/shape.hpp"

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

/// 4-bit zero points are for 4-bit integers only. 4-bit integers may have 8-bit zero points: oneDNN's documentation
/// does not list them, but its tests use them.
void check_zps_type(const op_record &op, const op_schema &schema) {
    if (op.inputs.size() <= input::zps) return;
    const auto quantized = (schema.dir == direction::quantize ? op.outputs.front() : op.inputs[input::src]).data_type;
    const auto zps = op.inputs[input::zps].data_type;
    if (quantized == dnnl_data_type_undef || zps == dnnl_data_type_undef) return;
    const auto bits = [](dnnl_data_type_t type) { return traits(*from_onednn(type)).bits; };
    if (bits(quantized) == 8 && bits(zps) == 4)
        refuse(op, dnnl_invalid_data_type, "zps: expected data type s8, u8 or s32 for ", name_of(quantized), ", given ",
                name_of(zps));
}

/// The required number of scales and zps, and the reason for messages.
struct expectation {
    std::int64_t count;
    std::string why;
};

/// The dim that attribute axis means. With an unknown rank the axis is checked against max_rank.
int channel_dim(const op_record &op, const c_logical_tensor &src) {
    if (src.ndims == 0)
        refuse(op, dnnl_invalid_arguments, "qtype: expected per_tensor for a src of rank 0, given per_channel");
    const auto rank = rank_known(src) ? src.ndims : max_rank;
    const auto axis = axis_of(op);
    prefix_errors(op, [&] { return per_channel(dims(static_cast<size_t>(rank)), axis); }); // throws if out of range
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

/// The number of scales or zps, from an input or from an attribute; nothing if there are none or it is unknown.
template <typename T>
std::optional<std::int64_t> given_parameters(const op_record &op, input position, dnnl_graph_op_attr_t attr) {
    if (const auto *list = find_attribute<std::vector<T>>(op, attr)) return static_cast<std::int64_t>(list->size());
    if (op.inputs.size() <= position || !dims_known(op.inputs[position])) return std::nullopt;
    return op.inputs[position].dims[0];
}

/// Dims and strides of scales and zps per_group.
struct group_check {
    const op_record &op;
    const c_logical_tensor &src;
    const std::vector<std::int64_t> &group;

    void group_shape() const {
        if (static_cast<int>(group.size()) != src.ndims)
            refuse(op, dnnl_invalid_shape, "group_shape: expected a value for each dim of src, ", src.ndims, ", given ",
                    group.size());
        for (int d = 0; d < src.ndims; ++d)
            if (src.dims[d] != unknown && src.dims[d] % at(d) != 0)
                refuse(op, dnnl_invalid_shape, "group_shape: expected a divisor of dims[", d, "] of src, ", src.dims[d],
                        ", given ", at(d), " at dim ", d);
    }

    void parameters(const char *name, const c_logical_tensor &t) const {
        if (!rank_known(t)) return;
        if (t.ndims != src.ndims)
            refuse(op, dnnl_invalid_shape, name, ": expected the rank of src, ", src.ndims, ", given ", t.ndims);
        for (int d = 0; d < src.ndims; ++d)
            if (src.dims[d] != unknown && t.dims[d] != unknown && t.dims[d] != src.dims[d] / at(d))
                refuse(op, dnnl_invalid_shape, name, ": expected ", src.dims[d] / at(d), " at dim ", d, " (dims[", d,
                        "] of src, ", src.dims[d], ", in groups of ", at(d), "), given ", t.dims[d]);
        if (dims_known(t) && strides_known(t) && !is_row_major(t))
            refuse(op, dnnl_invalid_shape, name, ": expected dense row-major strides, given ",
                    dynquant::to_string(strides_of(t)));
    }

  private:
    std::int64_t at(int d) const { return group[static_cast<size_t>(d)]; }

    static bool is_row_major(const c_logical_tensor &t) {
        const auto dense = dynquant::row_major(dims_of(t));
        for (int d = 0; d < t.ndims; ++d)
            if (t.dims[d] > 1 && t.layout.strides[d] != dense[static_cast<size_t>(d)]) return false;
        return true;
    }
};

void check_group_parameters(const op_record &op, const op_schema &schema, const c_logical_tensor &src) {
    if (!rank_known(src)) return;
    const group_check check {op, src, group_shape_of(op)};
    check.group_shape();
    for (size_t i = input::scales; i < op.inputs.size(); ++i)
        check.parameters(schema.inputs[i].name, op.inputs[i]);
}

/// Scales and zps per tensor and per channel.
void check_vectors(const op_record &op, const op_schema &schema, const c_logical_tensor &src) {
    for (size_t i = input::scales; i < op.inputs.size(); ++i)
        check_vector(op, schema.inputs[i].name, op.inputs[i]);

    auto expected = expected_parameters(op, src);
    const auto expect = [&](const char *name, std::optional<std::int64_t> given) {
        if (given && expected && *given != expected->count)
            refuse_as<wrong_count>(op, dnnl_invalid_shape, name, ": expected ", expected->count,
                    expected->count == 1 ? " element (" : " elements (", expected->why, "), given ", *given);
        // Scales and zps must agree even while the number of channels is unknown.
        if (given && !expected) expected = {*given, concat("as many as ", name)};
    };
    expect("scales", given_parameters<float>(op, input::scales, dnnl_graph_op_attr_scales));
    expect("zps", given_parameters<std::int64_t>(op, input::zps, dnnl_graph_op_attr_zps));
}

} // namespace

void check_shapes(const op_record &op, const op_schema &schema) {
    const auto &src = op.inputs[input::src], &dst = op.outputs.front();
    check_same_shape(op, src, dst);
    check_zps_type(op, schema);
    const auto described = with_dims_from(src, dst);
    if (is_per_group(op))
        check_group_parameters(op, schema, described);
    else
        check_vectors(op, schema, described);
}

} // namespace dynquant::graph::core

// Checks of ports and attributes against each other.
#include <bit>

#include "elements/table.hpp"
#include "graph/attributes.hpp"
#include "graph/check.hpp"
#include "graph/logical_tensor.hpp"
#include "graph/refusal.hpp"
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
void check_zps_type(const op_record &op) {
    if (computes_scales(op) || op.inputs.size() <= input::zps) return;
    const bool quantize = find_schema(op)->dir == direction::quantize;
    const auto quantized = (quantize ? op.outputs.front() : op.inputs[input::src]).data_type;
    const auto zps = op.inputs[input::zps].data_type;
    if (quantized == dnnl_data_type_undef || zps == dnnl_data_type_undef) return;
    const auto traits_of = [](dnnl_data_type_t type) { return traits(*from_onednn(type)); };
    if (traits_of(quantized).integral && traits_of(quantized).bits == 8 && traits_of(zps).bits == 4)
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

/// `expected`: the dim of an output may be unknown.
void check_vector(
        const op_record &op, const char *name, const c_logical_tensor &t, const std::optional<expectation> &expected) {
    if (!rank_known(t)) return;
    if (t.ndims != 1) refuse(op, dnnl_invalid_shape, name, ": expected a 1-D tensor, given rank ", t.ndims);
    const auto count = t.dims[0] == unknown && expected ? expected->count : t.dims[0];
    if (strides_known(t) && count > 1 && t.layout.strides[0] != 1)
        refuse(op, dnnl_invalid_shape, name, ": expected stride 1, given ", t.layout.strides[0]);
}

/// The number of scales or zps, from an input or from an attribute; nothing if there are none or it is unknown.
template <typename T>
std::optional<std::int64_t> given_parameters(const op_record &op, input position, dnnl_graph_op_attr_t attr) {
    if (const auto *list = find_attribute<std::vector<T>>(op, attr)) return static_cast<std::int64_t>(list->size());
    const auto &ports = parameter_ports(op);
    if (ports.size() <= position || !dims_known(ports[position])) return std::nullopt;
    return ports[position].dims[0];
}

/// With an unknown rank the mask is checked against max_rank.
void check_mask(const op_record &op, const c_logical_tensor &src) {
    const auto mask = mask_of(op);
    if (!mask) return;
    const auto rank = rank_known(src) ? src.ndims : max_rank;
    const auto most = (std::int64_t {1} << rank) - 1;
    if (*mask < 0 || *mask > most)
        refuse(op, dnnl_invalid_arguments, "mask: expected a value in [0, ", most, "] for rank ", rank, ", given ",
                *mask);
}

/// group_shape has a value for each dim of src, as the ops' documentation says. Beside mask it may have two, for the
/// last dims, as in the RFC of mask (oneDNN's pull request 5743).
void check_group_count(const op_record &op, const c_logical_tensor &src) {
    const auto *group = find_attribute<std::vector<std::int64_t>>(op, group_shape_attr);
    if (!group) return;
    const bool may_be_two = mask_of(op) && src.ndims > 2;
    const auto given = static_cast<int>(group->size());
    if (given != src.ndims && !(may_be_two && given == 2))
        refuse(op, dnnl_invalid_shape, "group_shape: expected a value for each dim of src, ", src.ndims,
                may_be_two ? ", or for the last 2" : "", ", given ", given);
}

/// Dims and strides of scales and zps per_group and by mask.
struct group_check {
    const op_record &op;
    const c_logical_tensor &src;
    const grouping stated;

    void group_shape() const {
        for (int d = 0; d < src.ndims; ++d)
            if (src.dims[d] != unknown && src.dims[d] % stated.at(d) != 0)
                refuse(op, dnnl_invalid_shape, "group_shape: expected a divisor of dims[", d, "] of src, ", src.dims[d],
                        ", given ", stated.at(d), " at dim ", d);
    }

    /// The RFC wants the bits of the last two dims for any group_shape, also for groups of 1.
    void mask() const {
        if (!op.attributes.contains(group_shape_attr)) return;
        for (int d = 0; d < src.ndims; ++d)
            if ((d >= src.ndims - 2 || stated.at(d) != 1) && !stated.varies_along(d))
                refuse(op, dnnl_invalid_arguments, "mask: expected bit ", d, " to be set for group_shape, which has ",
                        stated.at(d), " at dim ", d, ", given ", stated.mask);
    }

    /// Unknown dims of t are those that src gives, where they are known.
    void parameters(const char *name, c_logical_tensor t) const {
        if (!rank_known(t)) return;
        const auto rank = std::popcount(static_cast<std::uint64_t>(stated.mask));
        if (t.ndims != rank)
            refuse_dims(name, ": expected ",
                    is_per_group(op) ? concat("the rank of src, ", rank)
                                     : concat("rank ", rank, ", a dim for each bit of mask ", stated.mask),
                    ", given ", t.ndims);
        int position = 0;
        for (int d = 0; d < src.ndims; ++d)
            if (stated.varies_along(d)) extent(name, t, position++, d);
        if (dims_known(t) && strides_known(t) && !is_row_major(t))
            refuse(op, dnnl_invalid_shape, name, ": expected dense row-major strides, given ",
                    dynquant::to_string(strides_of(t)));
    }

  private:
    /// The extent of t at `position`, along dim d of src.
    void extent(const char *name, c_logical_tensor &t, int position, int d) const {
        auto &given = t.dims[position];
        const auto group = stated.at(d);
        if (src.dims[d] == unknown) return;
        if (given == unknown) given = src.dims[d] / group;
        if (given != src.dims[d] / group)
            refuse_dims(name, ": expected ", src.dims[d] / group, " at dim ", position, " (dims[", d, "] of src, ",
                    src.dims[d], ", in groups of ", group, "), given ", given);
    }

    /// At compile oneDNN checks the dims of groups, but not those that a mask states.
    template <typename... Parts>
    [[noreturn]] void refuse_dims(const Parts &...parts) const {
        if (mask_of(op)) refuse_as<wrong_count>(op, dnnl_invalid_shape, parts...);
        refuse(op, dnnl_invalid_shape, parts...);
    }

    static bool is_row_major(const c_logical_tensor &t) {
        const auto dense = dynquant::row_major(dims_of(t));
        for (int d = 0; d < t.ndims; ++d)
            if (t.dims[d] > 1 && t.layout.strides[d] != dense[static_cast<size_t>(d)]) return false;
        return true;
    }
};

void check_group_parameters(const op_record &op, const c_logical_tensor &src) {
    check_mask(op, src);
    if (!rank_known(src)) return;
    check_group_count(op, src);
    const group_check check {op, src, grouping_of(op, src.ndims)};
    check.group_shape();
    check.mask();
    const auto &ports = parameter_ports(op);
    for (size_t i = input::scales; i < ports.size(); ++i)
        check.parameters(parameter_schemas(op)[i].name, ports[i]);
}

/// Scales and zps per tensor and per channel.
void check_vectors(const op_record &op, const c_logical_tensor &src) {
    auto expected = expected_parameters(op, src);
    const auto &ports = parameter_ports(op);
    for (size_t i = input::scales; i < ports.size(); ++i)
        check_vector(op, parameter_schemas(op)[i].name, ports[i], expected);

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

void check_global_scale(const op_record &op) {
    if (!computes_scales(op) || op.inputs.size() <= global_scale) return;
    const auto &t = op.inputs[global_scale];
    if (dims_known(t) && volume(dims_of(t)) != 1)
        refuse(op, dnnl_invalid_shape, "global_scale: expected 1 element, given dims ", describe_dims(t));
}

} // namespace

void check_shapes(const op_record &op) {
    const auto &src = op.inputs[input::src], &dst = op.outputs.front();
    check_same_shape(op, src, dst);
    check_zps_type(op);
    check_global_scale(op);
    const auto described = with_dims_from(src, dst);
    if (is_grouped(op))
        check_group_parameters(op, described);
    else
        check_vectors(op, described);
}

} // namespace dynquant::graph::core

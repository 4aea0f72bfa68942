// Records ops as the program builds them.
#include "graph/op_schema.hpp"
#include "graph/refusal.hpp"
#include "onednn_graph/records.hpp"

using namespace dynquant::onednn_graph;

namespace {

/// Applies a change that oneDNN has accepted to the record of the op, if it has one.
template <typename Change>
dnnl_status_t update_record(dnnl_status_t status, dnnl_graph_op_t op, Change &&change) {
    if (status != dnnl_success) return status;
    if (const auto record = ops().find(op)) change(*record);
    return status;
}

} // namespace

extern "C" {

dnnl_status_t dnnl_graph_op_create(
        dnnl_graph_op_t *op, size_t id, dnnl_graph_op_kind_t kind, const char *verbose_name) {
    return guarded([&] {
        const auto status = onednn().op_create(op, id, kind, verbose_name);
        if (status != dnnl_success) return status;
        op_record record = {id, kind, verbose_name ? verbose_name : "", {}, {}, {}};
        const auto why = explain_unsupported_runtime();
        if (why.empty())
            ops().put(*op, std::make_shared<op_record>(std::move(record)));
        else if (core::find_schema(kind))
            core::report("leave", core::label(record) + ": " + why);
        return status;
    });
}

dnnl_status_t dnnl_graph_op_destroy(dnnl_graph_op_t op) {
    return guarded([&] {
        ops().drop(op); // first: a new op may get the address of a destroyed one
        return onednn().op_destroy(op);
    });
}

dnnl_status_t dnnl_graph_op_add_input(dnnl_graph_op_t op, const dnnl_graph_logical_tensor_t *input) {
    return guarded([&] {
        return update_record(
                onednn().op_add_input(op, input), op, [&](auto &record) { record.inputs.push_back(*input); });
    });
}

dnnl_status_t dnnl_graph_op_add_output(dnnl_graph_op_t op, const dnnl_graph_logical_tensor_t *output) {
    return guarded([&] {
        return update_record(
                onednn().op_add_output(op, output), op, [&](auto &record) { record.outputs.push_back(*output); });
    });
}

dnnl_status_t dnnl_graph_op_set_attr_f32(
        dnnl_graph_op_t op, dnnl_graph_op_attr_t name, const float *value, size_t value_len) {
    return guarded([&] {
        return update_record(onednn().op_set_attr_f32(op, name, value, value_len), op,
                [&](auto &record) { record.attributes[name] = std::vector<float>(value, value + value_len); });
    });
}

dnnl_status_t dnnl_graph_op_set_attr_bool(
        dnnl_graph_op_t op, dnnl_graph_op_attr_t name, const uint8_t *value, size_t value_len) {
    return guarded([&] {
        return update_record(onednn().op_set_attr_bool(op, name, value, value_len), op,
                [&](auto &record) { record.attributes[name] = *value != 0; });
    });
}

dnnl_status_t dnnl_graph_op_set_attr_s64(
        dnnl_graph_op_t op, dnnl_graph_op_attr_t name, const int64_t *value, size_t value_len) {
    return guarded([&] {
        return update_record(onednn().op_set_attr_s64(op, name, value, value_len), op,
                [&](auto &record) { record.attributes[name] = std::vector<std::int64_t>(value, value + value_len); });
    });
}

dnnl_status_t dnnl_graph_op_set_attr_str(
        dnnl_graph_op_t op, dnnl_graph_op_attr_t name, const char *value, size_t value_len) {
    return guarded([&] {
        return update_record(onednn().op_set_attr_str(op, name, value, value_len), op,
                [&](auto &record) { record.attributes[name] = std::string(value); }); // oneDNN ignores the length
    });
}

} // extern "C"

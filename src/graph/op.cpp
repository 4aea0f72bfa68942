// Ops as a program builds them. Nothing is checked before add_op.
#include "graph/op_record.hpp"

namespace dynquant::graph::core {

op_record *create_op(size_t id, dnnl_graph_op_kind_t kind, const char *name) {
    return new op_record {id, kind, name, {}, {}, {}};
}

void add_input(op_record &op, const dnnl_graph_logical_tensor_t &port) {
    op.inputs.push_back(port);
}

void add_output(op_record &op, const dnnl_graph_logical_tensor_t &port) {
    op.outputs.push_back(port);
}

void set_attr_s64(op_record &op, dnnl_graph_op_attr_t attr, const int64_t *values, size_t count) {
    op.attributes[attr] = std::vector<std::int64_t>(values, values + count);
}

void set_attr_f32(op_record &op, dnnl_graph_op_attr_t attr, const float *values, size_t count) {
    op.attributes[attr] = std::vector<float>(values, values + count);
}

void set_attr_bool(op_record &op, dnnl_graph_op_attr_t attr, bool value) {
    op.attributes[attr] = value;
}

void set_attr_str(op_record &op, dnnl_graph_op_attr_t attr, const char *text, size_t length) {
    op.attributes[attr] = std::string(text, length);
}

void destroy(op_record *op) noexcept {
    delete op;
}

} // namespace dynquant::graph::core

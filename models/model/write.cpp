// Serializes a graph as a model file.
#include "model/file.hpp"
#include "model/refusal.hpp"
#include "model_file.pb.h"

namespace dynquant::models {
namespace {

namespace file = model_file;

void write_tensor(const tensor &from, file::Tensor &to) {
    to.mutable_dims()->Add(from.what.shape.begin(), from.what.shape.end());
    to.set_data_type(from.what.type);
    to.set_raw_data(from.data.data(), from.data.size());
}

/// Sets an attribute's value.
struct attribute_writer {
    file::Attribute &to;

    void operator()(float value) const { to.set_f(value); }
    void operator()(std::int64_t value) const { to.set_i(value); }
    void operator()(const std::string &value) const { to.set_s(value); }
    void operator()(const tensor &value) const { write_tensor(value, *to.mutable_t()); }
    void operator()(const std::vector<float> &value) const { to.mutable_floats()->Add(value.begin(), value.end()); }
    void operator()(const std::vector<std::int64_t> &value) const {
        to.mutable_ints()->Add(value.begin(), value.end());
    }
    void operator()(const attribute::other &value) const {
        throw error(status::unimplemented,
                concat("attribute '", to.name(),
                        "': expected a number, a string, a tensor or a list of numbers, given ", "attribute type ",
                        static_cast<std::int32_t>(value.type)));
    }
};

void write_node(const node &from, file::Node &to) {
    to.set_op_type(from.op_type);
    if (!from.domain.empty()) to.set_domain(from.domain);
    if (!from.name.empty()) to.set_name(from.name);
    to.mutable_input()->Add(from.inputs.begin(), from.inputs.end());
    to.mutable_output()->Add(from.outputs.begin(), from.outputs.end());
    for (const auto &a : from.attributes) {
        auto &attribute = *to.add_attribute();
        attribute.set_name(a.name);
        attribute.set_type(static_cast<std::int32_t>(a.type()));
        std::visit(attribute_writer {attribute}, a.value);
    }
}

void write_port(const port &from, file::Value &to) {
    to.set_name(from.name);
    auto &type = *to.mutable_type()->mutable_tensor_type();
    type.set_elem_type(from.type);
    if (!from.shape) return;
    auto &shape = *type.mutable_shape();
    for (std::size_t d = 0; d < from.shape->size(); ++d) {
        auto &dim = *shape.add_dim();
        if (const auto extent = (*from.shape)[d]; extent != free_extent)
            dim.set_dim_value(extent);
        else if (d < from.names.size() && !from.names[d].empty())
            dim.set_dim_param(from.names[d]);
    }
}

} // namespace

std::string write(const graph &g) {
    constexpr int ir_version = 8; // that of opset 15; readers of later opsets accept it
    file::Model model;
    model.set_ir_version(ir_version);
    model.set_producer_name("dynquant");
    for (const auto &[domain, version] : g.opsets) {
        auto &set = *model.add_opset_import();
        set.set_domain(domain);
        set.set_version(version);
    }
    auto &graph = *model.mutable_graph();
    graph.set_name(g.name);
    for (const auto &n : g.nodes)
        write_node(n, *graph.add_node());
    for (const auto &[name, value] : g.initializers) {
        auto &initializer = *graph.add_initializer();
        initializer.set_name(name);
        write_tensor(value, initializer);
    }
    for (const auto &input : g.inputs)
        write_port(input, *graph.add_input());
    for (const auto &output : g.outputs)
        write_port(output, *graph.add_output());
    if (model.ByteSizeLong() > 0x7fffffff)
        throw error(status::invalid_arguments,
                concat("expected a model of at most 2147483647 bytes, given ", model.ByteSizeLong()));
    return model.SerializeAsString();
}

} // namespace dynquant::models

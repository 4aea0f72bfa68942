#include "model/infer.hpp"

#include <algorithm>

#include "model/op_node.hpp"
#include "quantization/shape.hpp"

namespace dynquant::models {
namespace {

void check_opset(const graph &g) {
    constexpr std::int64_t oldest = 10; // the first of QuantizeLinear and ConvInteger
    const auto given = g.opsets.at("");
    if (given < oldest || given > newest_opset)
        refuse(status::unimplemented, "opset: expected ", oldest, " to ", newest_opset, ", given ", given);
}

bool agrees(const std::optional<dims> &declared, const dims &shape) {
    return !declared || std::ranges::equal(*declared, shape, [](std::int64_t known, std::int64_t extent) {
        return known == free_extent || known == extent;
    });
}

dims shape_of(const port &input, const std::map<std::string, dims> &shapes) {
    const auto given = shapes.find(input.name);
    const bool is_open = !input.shape || std::ranges::count(*input.shape, free_extent) > 0;
    if (given == shapes.end()) {
        if (is_open)
            refuse(status::invalid_shape, "input '", input.name,
                    "': expected a shape for it among the options, since the file says ", text_of(input.shape),
                    ", given none");
        return *input.shape;
    }
    const auto &shape = given->second;
    if (!agrees(input.shape, shape) || std::ranges::any_of(shape, [](auto extent) { return extent < 0; })
            || shape.size() > max_rank)
        refuse(status::invalid_shape, "input '", input.name, "': expected a shape as the file says, ",
                text_of(input.shape), ", given ", text_of(shape));
    return shape;
}

void check_size(const std::string &what, const tensor_type &value) {
    if (!bits_in(value.type))
        refuse(status::invalid_data_type, what, ": expected numbers, given elements of type ",
                onnx::name_of(value.type));
    if (!size_in_bytes(value))
        refuse(status::invalid_shape, what, ": expected ", size_limit, ", given ", text_of(value.shape));
}

void check_names(const graph &g, const std::map<std::string, dims> &shapes) {
    std::vector<std::string> names;
    for (const auto &input : g.inputs)
        names.push_back(input.name);
    for (const auto &[name, shape] : shapes)
        if (std::ranges::count(names, name) == 0)
            refuse(status::invalid_arguments, "shapes: expected names of inputs, given '", name, "'",
                    suggest(name, names));
}

/// The extent of a dim_param, and the first input that has it.
struct named_extent {
    std::string input;
    std::int64_t extent;
};

void check_extents(const port &input, const dims &shape, std::map<std::string, named_extent> &known) {
    for (std::size_t d = 0; d < input.names.size(); ++d) {
        if (input.names[d].empty()) continue;
        const auto &first = known.try_emplace(input.names[d], named_extent {input.name, shape[d]}).first->second;
        if (first.extent != shape[d])
            refuse(status::invalid_shape, "input '", input.name, "': expected ", first.extent, " for '", input.names[d],
                    "', as in input '", first.input, "', given shape ", text_of(shape));
    }
}

void infer_inputs(graph &g, const std::map<std::string, dims> &shapes) {
    check_names(g, shapes);
    std::map<std::string, named_extent> extents;
    for (auto &input : g.inputs) {
        const tensor_type value {input.type, shape_of(input, shapes)};
        check_extents(input, value.shape, extents);
        check_size(concat("input '", input.name, "'"), value);
        input.shape = value.shape;
        g.value_types[input.name] = value;
    }
}

void check_outputs(graph &g) {
    for (auto &output : g.outputs) {
        const auto &value = g.value_types.at(output.name);
        if (output.type != onnx::type::undefined && output.type != value.type)
            refuse(status::invalid_data_type, "output '", output.name, "': expected type ", onnx::name_of(value.type),
                    ", which its node computes, given ", onnx::name_of(output.type));
        if (!agrees(output.shape, value.shape))
            refuse(status::invalid_shape, "output '", output.name, "': expected shape ", text_of(value.shape),
                    ", which its node computes, given ", text_of(output.shape));
        output.type = value.type;
        output.shape = value.shape;
    }
}

} // namespace

void infer(graph &g, const std::map<std::string, dims> &shapes) {
    check_opset(g);
    check_operators(g, operator_names());
    g.value_types.clear();
    for (const auto &[name, value] : g.initializers)
        g.value_types[name] = value.what;
    infer_inputs(g, shapes);
    for (const auto &n : g.nodes) {
        const auto checked = check(g, n);
        const auto value = checked.schema.infer(checked);
        check_size(concat(label(n), ": its output"), value);
        g.value_types[n.outputs.front()] = value;
    }
    check_outputs(g);
}

} // namespace dynquant::models

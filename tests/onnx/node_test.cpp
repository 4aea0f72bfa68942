#include "node_test.hpp"

namespace dynquant::test {
namespace fs = std::filesystem;

namespace {

/// float [2, 3]
std::string text_of(const onnx::value &v) {
    std::string text = onnx::name_of(v.type) + " [";
    for (std::size_t d = 0; d < v.shape.size(); ++d)
        text += (d == 0 ? "" : ", ") + std::to_string(v.shape[d]);
    return text + "]";
}

} // namespace

onnx::arguments node_test::arguments() const {
    onnx::arguments args;
    const void **pointers[] = {&args.x, &args.scale, &args.zero_point};
    for (std::size_t i = 0; i < node_inputs.size(); ++i)
        if (node_inputs[i] >= 0) *pointers[i] = graph_inputs[static_cast<std::size_t>(node_inputs[i])].data.data();
    return args;
}

fs::path tensor_path(const fs::path &folder, const std::string &kind, std::size_t number) {
    return folder / "test_data_set_0" / (kind + "_" + std::to_string(number) + ".pb");
}

std::vector<tensor_file> read_tensors(const fs::path &folder, const std::string &kind) {
    std::vector<tensor_file> result;
    for (;;) {
        const auto path = tensor_path(folder, kind, result.size());
        if (!fs::exists(path)) return result;
        result.push_back(parse_tensor(read_file(path), path.string()));
    }
}

void check_inputs(const model_file &model, const std::vector<tensor_file> &inputs, const std::string &name) {
    const auto &declared = model.graph_inputs;
    if (inputs.size() != declared.size())
        throw file_error(name + ": expected a file for each of " + std::to_string(declared.size()) + " inputs, given "
                + std::to_string(inputs.size()));
    for (std::size_t i = 0; i < inputs.size(); ++i) {
        const auto &given = inputs[i].what;
        if (given.type != declared[i].type || given.shape != declared[i].shape)
            throw file_error(name + ": expected input " + std::to_string(i) + " to be " + text_of(declared[i])
                    + ", given a file of " + text_of(given));
    }
}

node_test read_node_test(const fs::path &folder) {
    const auto path = folder / "model.onnx";
    const auto model = parse_model(read_file(path), path.string());
    node_test result {model.node, read_tensors(folder, "input"), model.node_inputs, model.graph_outputs};
    check_inputs(model, result.graph_inputs, path.string());
    constexpr std::size_t most = 3;
    if (model.node_inputs.size() > most)
        throw file_error(path.string() + ": expected a node of at most " + std::to_string(most) + " inputs, given "
                + std::to_string(model.node_inputs.size()));
    for (const auto at : model.node_inputs)
        result.node.inputs.push_back(at < 0 ? onnx::value {} : result.graph_inputs[static_cast<std::size_t>(at)].what);
    return result;
}

} // namespace dynquant::test

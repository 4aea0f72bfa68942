#include "node_test.hpp"

namespace dynquant::test {
namespace fs = std::filesystem;

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

node_test read_node_test(const fs::path &folder) {
    const auto path = folder / "model.onnx";
    const auto model = parse_model(read_file(path), path.string());
    node_test result {model.node, read_tensors(folder, "input"), model.node_inputs, model.graph_outputs};
    if (result.graph_inputs.size() != model.graph_inputs.size())
        throw file_error(path.string() + ": expected a file for each of " + std::to_string(model.graph_inputs.size())
                + " inputs, given " + std::to_string(result.graph_inputs.size()));
    constexpr std::size_t most = 3;
    if (model.node_inputs.size() > most)
        throw file_error(path.string() + ": expected a node of at most " + std::to_string(most) + " inputs, given "
                + std::to_string(model.node_inputs.size()));
    for (const auto at : model.node_inputs)
        result.node.inputs.push_back(at < 0 ? onnx::value {} : result.graph_inputs[static_cast<std::size_t>(at)].what);
    return result;
}

} // namespace dynquant::test

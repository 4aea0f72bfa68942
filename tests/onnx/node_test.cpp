#include "node_test.hpp"

#include <algorithm>
#include <cstring>
#include <fstream>

#include "onnx.pb.h"
#include "oracle/elements.hpp"

namespace dynquant::test {
namespace fs = std::filesystem;
namespace proto = ::onnx;

template <typename Message>
Message read_message(const fs::path &path) {
    Message message;
    std::ifstream file(path, std::ios::binary);
    if (!file || !message.ParseFromIstream(&file))
        throw file_error(path.string() + ": expected a " + std::string(message.GetTypeName())
                + ", given none, or one cut short");
    return message;
}

template proto::ModelProto read_message(const fs::path &path);
template proto::TensorProto read_message(const fs::path &path);

namespace {

/// The lowest bytes of each value.
template <typename Values>
void append(std::vector<std::byte> &to, const Values &values, std::size_t bytes) {
    for (const auto value : values) {
        const auto *from = reinterpret_cast<const std::byte *>(&value);
        to.insert(to.end(), from, from + bytes);
    }
}

/// An entry holds an element, or a byte of packed elements. Elements of six bits have an entry each.
std::vector<std::byte> small_numbers(const proto::TensorProto &t, data_type type) {
    std::vector<std::byte> data;
    const int bits = bits_in(type);
    if (bits != 6) {
        append(data, t.int32_data(), static_cast<std::size_t>(std::max(bits / 8, 1)));
        return data;
    }
    data.resize(bytes_for(type, t.int32_data_size()));
    for (int i = 0; i < t.int32_data_size(); ++i)
        set_bits(type, data.data(), i, static_cast<std::uint32_t>(t.int32_data(i)) & 0x3f);
    return data;
}

std::vector<std::byte> data_of(const proto::TensorProto &t, data_type type) {
    std::vector<std::byte> data;
    if (t.has_raw_data())
        append(data, t.raw_data(), 1);
    else if (type == data_type::f32)
        append(data, t.float_data(), sizeof(float));
    else if (type == data_type::u32)
        append(data, t.uint64_data(), sizeof(std::uint32_t));
    else
        data = small_numbers(t, type);
    return data;
}

/// -1 if a file cannot hold that many elements.
std::int64_t count_of(const dims &shape) {
    constexpr std::int64_t most = std::int64_t {1} << 32;
    std::int64_t count = 1;
    for (const auto extent : shape)
        if (extent < 0 || extent > most || __builtin_mul_overflow(count, extent, &count) || count > most) return -1;
    return count;
}

/// The index among the graph's inputs.
int index_of(const proto::GraphProto &graph, const std::string &input, const fs::path &path) {
    if (input.empty()) return -1;
    for (int i = 0; i < graph.input_size(); ++i)
        if (graph.input(i).name() == input) return i;
    throw file_error(path.string() + ": expected the node's inputs among the graph's, given another");
}

std::int64_t opset_of(const proto::ModelProto &model, const std::string &domain) {
    const auto found = std::ranges::find(model.opset_import(), domain, &proto::OperatorSetIdProto::domain);
    return found == model.opset_import().end() ? 0 : found->version();
}

} // namespace

tensor_file read_tensor(const fs::path &path) {
    const auto message = read_message<proto::TensorProto>(path);
    tensor_file result {{message.data_type(), {message.dims().begin(), message.dims().end()}}, {}};
    const auto type = onnx::data_type_of(message.data_type());
    const auto count = count_of(result.what.shape);
    if (type) result.data = data_of(message, *type);
    if (!type || count < 0 || result.data.size() != bytes_for(*type, count))
        throw file_error(path.string() + ": expected as many elements of a known type as the shape has, given "
                + std::to_string(result.data.size()) + " bytes of " + onnx::name_of(message.data_type()));
    return result;
}

onnx::arguments node_test::arguments(const std::vector<std::byte *> &outputs) const {
    onnx::arguments args;
    args.y = outputs.at(0);
    if (outputs.size() > 1) args.y_scale = outputs[1];
    if (outputs.size() > 2) args.y_zero_point = outputs[2];
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
        result.push_back(read_tensor(path));
    }
}

void write_tensor(const fs::path &path, const tensor_file &tensor) {
    proto::TensorProto message;
    message.set_data_type(tensor.what.type);
    for (const auto extent : tensor.what.shape)
        message.add_dims(extent);
    message.set_raw_data(tensor.data.data(), tensor.data.size());
    std::ofstream file(path, std::ios::binary);
    if (!message.SerializeToOstream(&file) || !file.flush())
        throw file_error(path.string() + ": expected to write a tensor, and cannot");
}

node_test read_node_test(const fs::path &folder) {
    const auto path = folder / "model.onnx";
    const auto model = read_message<proto::ModelProto>(path);
    const auto &graph = model.graph();
    constexpr int most = 3;
    if (graph.node_size() != 1 || graph.node(0).input_size() > most)
        throw file_error(path.string() + ": expected one node of at most " + std::to_string(most) + " inputs");
    const auto &node = graph.node(0);
    node_test result;
    result.graph_inputs = read_tensors(folder, "input");
    if (result.graph_inputs.size() != static_cast<std::size_t>(graph.input_size()))
        throw file_error(path.string() + ": expected a file for each of the graph's inputs");
    for (int i = 0; i < graph.input_size(); ++i)
        if (result.graph_inputs[static_cast<std::size_t>(i)].what.type
                != graph.input(i).type().tensor_type().elem_type())
            throw file_error(path.string() + ": expected the files to have the types of the graph's inputs");
    result.node.op_type = node.op_type();
    result.node.domain = node.domain();
    result.node.name = node.name();
    result.node.opset = opset_of(model, node.domain());
    for (const auto &attribute : node.attribute())
        result.node.attributes.push_back({attribute.name(), attribute.i(), attribute.type()});
    for (const auto &output : graph.output())
        result.graph_outputs.push_back(output.type().tensor_type().elem_type());
    for (const auto &input : node.input()) {
        const int at = index_of(graph, input, path);
        result.node_inputs.push_back(at);
        result.node.inputs.push_back(at < 0 ? onnx::value {} : result.graph_inputs[static_cast<std::size_t>(at)].what);
    }
    return result;
}

} // namespace dynquant::test

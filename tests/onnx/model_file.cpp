#include "model_file.hpp"

#include <algorithm>
#include <bit>
#include <fstream>
#include <sstream>
#include <utility>

#include "onnx.pb.h"
#include "support/elements.hpp"

namespace dynquant::test {
namespace {

namespace proto = ::onnx;

template <typename... Parts>
[[noreturn]] void fail(const std::string &name, const Parts &...parts) {
    std::ostringstream text;
    text << name << ": ";
    (text << ... << parts);
    throw file_error(text.str());
}

template <typename Message>
Message parse(const std::string &bytes, const std::string &name, const char *expected) {
    Message message;
    if (!message.ParseFromString(bytes)) fail(name, "expected ", expected, ", given bytes that are none or cut short");
    return message;
}

void append(std::vector<std::byte> &to, std::uint64_t value, int bytes) {
    for (int i = 0; i < bytes; ++i)
        to.push_back(static_cast<std::byte>(value >> (8 * i)));
}

/// An entry of a field, which has more bits than the type. Throws file_error when it is beyond the type's.
template <typename Entry>
std::uint32_t checked(Entry entry, integer_range allowed, const char *field, const std::string &name) {
    if (std::cmp_less(entry, allowed.lowest) || std::cmp_greater(entry, allowed.highest))
        fail(name, "expected numbers of ", allowed.lowest, " to ", allowed.highest, " in ", field, ", given ", entry);
    return static_cast<std::uint32_t>(entry);
}

/// What the entries of int32_data may be: integers of the type, or a float's bits, or a byte of packed elements, which
/// onnx 1.16 takes for signed where they are.
integer_range entries_of(data_type type) {
    const int bits = bits_in(type);
    if (is_integer(type) && bits >= 8) return range_of(type);
    if (type == data_type::s4 || type == data_type::s2) return {INT8_MIN, UINT8_MAX};
    return {0, bits == 6 ? 0x3f : bits <= 8 ? 0xff : 0xffff};
}

/// The elements of a field for small numbers: an entry for each, or, below a byte, for each byte; six bits are one
/// each.
std::vector<std::byte> pack_integers(const proto::TensorProto &t, data_type type, const std::string &name) {
    std::vector<std::byte> data;
    const int bits = bits_in(type);
    const auto entry = [&](int i) { return checked(t.int32_data(i), entries_of(type), "int32_data", name); };
    if (bits == 6) data.resize(bytes_for(type, t.int32_data_size()));
    for (int i = 0; i < t.int32_data_size(); ++i)
        if (bits == 6)
            set_bits(type, data.data(), i, entry(i));
        else
            append(data, entry(i), std::max(bits / 8, 1));
    return data;
}

/// In no more than one field: it would be anyone's guess which of them is meant.
void check_fields(const proto::TensorProto &t, const std::string &name) {
    const bool fields[] = {t.has_raw_data(), t.float_data_size() > 0, t.int32_data_size() > 0, t.string_data_size() > 0,
            t.int64_data_size() > 0, t.double_data_size() > 0, t.uint64_data_size() > 0};
    const auto given = std::ranges::count(fields, true);
    if (given > 1) fail(name, "expected the elements in one field, given them in ", given);
}

std::vector<std::byte> data_of(const proto::TensorProto &t, data_type type, const std::string &name) {
    check_fields(t, name);
    if (t.has_raw_data()) {
        const auto *bytes = reinterpret_cast<const std::byte *>(t.raw_data().data());
        return {bytes, bytes + t.raw_data().size()};
    }
    std::vector<std::byte> data;
    if (type == data_type::f32)
        for (const float value : t.float_data())
            append(data, std::bit_cast<std::uint32_t>(value), 4);
    else if (type == data_type::u32)
        for (const auto value : t.uint64_data())
            append(data, checked(value, range_of(type), "uint64_data", name), 4);
    else
        data = pack_integers(t, type, name);
    return data;
}

dims shape_of(const proto::TypeProto_Tensor &type, const std::string &name) {
    dims shape;
    shape.reserve(static_cast<std::size_t>(type.shape().dim_size()));
    for (const auto &dim : type.shape().dim()) {
        if (!dim.has_dim_value()) fail(name, "expected known extents, given an unknown one");
        shape.push_back(dim.dim_value());
    }
    return shape;
}

std::vector<onnx::value> values_of(
        const google::protobuf::RepeatedPtrField<proto::ValueInfoProto> &infos, const std::string &name) {
    std::vector<onnx::value> values;
    for (const auto &info : infos) {
        if (!info.type().has_tensor_type())
            fail(name, "expected '", info.name(), "' to be a tensor, given another type");
        const auto &type = info.type().tensor_type();
        values.push_back({type.elem_type(), shape_of(type, name)});
    }
    return values;
}

int find_input(const proto::GraphProto &graph, const std::string &input, const std::string &name) {
    if (input.empty()) return -1;
    for (int i = 0; i < graph.input_size(); ++i)
        if (graph.input(i).name() == input) return i;
    fail(name, "expected the node's input '", input, "' among the graph's, given none");
}

std::int64_t opset_of(const proto::ModelProto &model, const std::string &domain, const std::string &name) {
    for (const auto &import : model.opset_import())
        if (import.domain() == domain) return import.version();
    fail(name, "expected the model to import an opset of domain '", domain, "', given none");
}

} // namespace

std::int64_t count_of(const dims &shape, const std::string &name) {
    constexpr std::int64_t most = std::int64_t {1} << 32; // a file has 2^29 bits at most
    for (const auto extent : shape)
        if (extent < 0 || extent > most) fail(name, "expected extents of 0 to ", most, ", given ", extent);
    if (std::ranges::count(shape, 0) > 0) return 0;
    std::int64_t count = 1;
    for (const auto extent : shape) {
        if (extent > most / count) fail(name, "expected at most ", most, " elements, given more");
        count *= extent;
    }
    return count;
}

std::string read_file(const std::filesystem::path &path) {
    constexpr std::uintmax_t most = 64 << 20;
    std::error_code error;
    const auto size = std::filesystem::file_size(path, error);
    if (error) fail(path.string(), "expected a file, given: ", error.message());
    if (size > most) fail(path.string(), "expected at most ", most, " bytes, given ", size);
    std::ifstream file(path, std::ios::binary);
    std::string bytes(size, '\0');
    if (!file.read(bytes.data(), static_cast<std::streamsize>(size)))
        fail(path.string(), "expected ", size, " bytes, given fewer");
    return bytes;
}

tensor_file parse_tensor(const std::string &bytes, const std::string &name) {
    const auto message = parse<proto::TensorProto>(bytes, name, "a tensor");
    const auto type = onnx::data_type_of(message.data_type());
    if (!type)
        fail(name, "expected elements of a type that quantization has, given ", onnx::name_of(message.data_type()));
    if (message.data_location() != proto::TensorProto::DEFAULT)
        fail(name, "expected the elements in the file, given an external location");
    tensor_file result;
    result.what = {message.data_type(), {message.dims().begin(), message.dims().end()}};
    const auto expected = bytes_for(*type, count_of(result.what.shape, name));
    result.data = data_of(message, *type, name);
    if (result.data.size() != expected)
        fail(name, "expected ", expected, " bytes of elements, given ", result.data.size());
    return result;
}

std::string serialize_tensor(const tensor_file &tensor) {
    proto::TensorProto message;
    message.set_data_type(tensor.what.type);
    for (const auto extent : tensor.what.shape)
        message.add_dims(extent);
    message.set_raw_data(tensor.data.data(), tensor.data.size());
    return message.SerializeAsString();
}

model_file parse_model(const std::string &bytes, const std::string &name) {
    const auto model = parse<proto::ModelProto>(bytes, name, "a model");
    if (!model.has_graph()) fail(name, "expected a model with a graph, given one without");
    const auto &graph = model.graph();
    if (graph.node_size() != 1) fail(name, "expected a model of one node, given ", graph.node_size());
    const auto &node = graph.node(0);
    model_file result;
    result.node.op_type = node.op_type();
    result.node.domain = node.domain();
    result.node.name = node.name();
    result.node.opset = opset_of(model, node.domain(), name);
    for (const auto &attribute : node.attribute())
        result.node.attributes.push_back({attribute.name(), attribute.i(), attribute.type()});
    result.graph_inputs = values_of(graph.input(), name);
    result.graph_outputs = values_of(graph.output(), name);
    for (const auto &input : node.input())
        result.node_inputs.push_back(find_input(graph, input, name));
    return result;
}

} // namespace dynquant::test

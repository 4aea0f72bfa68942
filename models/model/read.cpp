// Parses a model file. The bytes are untrusted: sizes are checked before memory is allocated.
#include <bit>
#include <charconv>
#include <cstring>
#include <limits>
#include <map>

#include <google/protobuf/arena.h>

#include "model/external_data.hpp"
#include "model/file.hpp"
#include "model/refusal.hpp"
#include "model_file.pb.h"
#include "onnx/element_type.hpp"

namespace dynquant::models {
namespace {

namespace file = model_file;

static_assert(std::endian::native == std::endian::little, "tensors in files are little endian");

/// The low `bytes` bytes of each value: the file's fields hold narrow types in wider ones.
template <typename Values>
std::vector<std::byte> packed(const Values &values, std::size_t bytes) {
    std::vector<std::byte> data(static_cast<std::size_t>(values.size()) * bytes);
    auto *to = data.data();
    for (const auto value : values) {
        std::memcpy(to, &value, bytes); // little endian
        to += bytes;
    }
    return data;
}

/// The elements, from raw_data or from the field of their type.
std::vector<std::byte> elements_of(const file::Tensor &t) {
    namespace type = onnx::type;
    if (t.has_raw_data()) {
        const auto *bytes = reinterpret_cast<const std::byte *>(t.raw_data().data());
        return {bytes, bytes + t.raw_data().size()};
    }
    switch (t.data_type()) {
        case type::float32: return packed(t.float_data(), 4);
        case type::int64: return packed(t.int64_data(), 8);
        case type::float64: return packed(t.double_data(), 8);
        case type::uint32: return packed(t.uint64_data(), 4);
        case type::uint64: return packed(t.uint64_data(), 8);
        default: // also elements of less than a byte, packed into bytes
            return packed(t.int32_data(), static_cast<std::size_t>(std::max(8, *bits_in(t.data_type()))) / 8);
    }
}

/// An entry of external_data that is a number, in decimal digits.
std::int64_t number_of(const std::string &key, const std::string &text, const std::string &where) {
    std::int64_t value = 0;
    const auto *end = text.data() + text.size();
    const auto [rest, wrong] = std::from_chars(text.data(), end, value);
    if (wrong != std::errc() || rest != end || value < 0)
        refuse(status::invalid_arguments, where, ": external data: ", key,
                ": expected a number from 0 to 2^63 - 1, given '", text, "'");
    return value;
}

/// Elements of `size` bytes that are in another file.
std::vector<std::byte> external_elements_of(
        const file::Tensor &t, std::int64_t size, const std::string &where, const std::string &folder) {
    std::map<std::string, std::string> entries;
    for (const auto &entry : t.external_data())
        if (!entries.emplace(entry.key(), entry.value()).second)
            refuse(status::invalid_arguments, where, ": external data: expected each key once, given '", entry.key(),
                    "' more often");
    const auto number = [&](const char *key, std::int64_t otherwise) {
        const auto entry = entries.find(key);
        return entry == entries.end() ? otherwise : number_of(key, entry->second, where);
    };
    if (const auto length = number("length", size); length != size)
        refuse(status::invalid_arguments, where, ": external data: length: expected ", size, ", the bytes of ",
                onnx::name_of(t.data_type()), " ", to_string(dims(t.dims().begin(), t.dims().end())), ", given ",
                length);
    return external_bytes(folder, entries["location"], number("offset", 0), size, concat(where, ": external data"));
}

tensor tensor_of(const file::Tensor &t, const std::string &where, const std::string &folder) {
    tensor result;
    result.what = {t.data_type(), {t.dims().begin(), t.dims().end()}};
    if (!bits_in(t.data_type()))
        refuse(status::invalid_data_type, where, ": expected numbers, given elements of type ",
                onnx::name_of(t.data_type()));
    if (result.what.shape.size() > max_rank)
        refuse(status::invalid_shape, where, ": expected rank 0 to ", max_rank, ", given ", result.what.shape.size());
    for (const auto extent : result.what.shape)
        if (extent < 0) refuse(status::invalid_shape, where, ": expected extents of 0 or more, given ", extent);
    const auto size = size_in_bytes(result.what);
    if (!size)
        refuse(status::invalid_shape, where, ": expected ", size_limit, ", given shape ", to_string(result.what.shape));
    switch (t.data_location()) {
        case 0: result.data = elements_of(t); break;
        case 1: result.data = external_elements_of(t, *size, where, folder); break;
        default: refuse(status::unimplemented, where, ": data_location: expected 0 or 1, given ", t.data_location());
    }
    if (static_cast<std::int64_t>(result.data.size()) != *size)
        refuse(status::invalid_arguments, where, ": expected ", *size, " bytes for ", onnx::name_of(t.data_type()), " ",
                to_string(result.what.shape), ", given ", result.data.size());
    return result;
}

attribute attribute_of(const file::Attribute &a, const node &n, const std::string &folder) {
    using enum attribute_type;
    const attribute_type type {a.type()};
    const auto where = concat(label(n), ": attribute '", a.name(), "'");
    if (!a.ref_attr_name().empty())
        refuse(status::unimplemented, where, ": expected a value, given a reference to a function's attribute");
    switch (type) {
        case real: return {a.name(), a.f()};
        case integer: return {a.name(), a.i()};
        case text: return {a.name(), a.s()};
        case attribute_type::tensor: return {a.name(), tensor_of(a.t(), where, folder)};
        case reals: return {a.name(), std::vector<float>(a.floats().begin(), a.floats().end())};
        case integers: return {a.name(), std::vector<std::int64_t>(a.ints().begin(), a.ints().end())};
        default: return {a.name(), attribute::other {type}};
    }
}

std::string domain_of(const std::string &given) {
    return given == "ai.onnx" ? "" : given;
}

node node_of(const file::Node &given, const std::string &folder) {
    node n {given.op_type(), domain_of(given.domain()), given.name(), {given.input().begin(), given.input().end()},
            {given.output().begin(), given.output().end()}};
    for (const auto &a : given.attribute())
        n.attributes.push_back(attribute_of(a, n, folder));
    return n;
}

port port_of(const file::Value &given, const char *kind) {
    const auto where = concat(kind, " '", given.name(), "'");
    if (given.type().ByteSizeLong() == 0)
        refuse(status::invalid_data_type, where, ": expected a tensor type, given none");
    if (!given.type().has_tensor_type())
        refuse(status::unimplemented, where, ": expected a tensor, given another type");
    const auto &type = given.type().tensor_type();
    port result {given.name(), type.elem_type()};
    if (!type.has_shape()) return result;
    result.shape.emplace();
    for (const auto &extent : type.shape().dim()) {
        // Some exporters write a free extent as -1, or as the name "?", which does not make extents equal.
        if (extent.has_dim_value() && extent.dim_value() < free_extent)
            refuse(status::invalid_shape, where, ": expected extents of 0 or more, or -1 for an open one, given ",
                    extent.dim_value());
        result.shape->push_back(extent.has_dim_value() ? extent.dim_value() : free_extent);
        if (extent.dim_param().empty() || extent.dim_param() == "?") continue; // dim_param is empty beside a dim_value
        result.names.resize(static_cast<std::size_t>(type.shape().dim_size()));
        result.names[result.shape->size() - 1] = extent.dim_param();
    }
    if (result.shape->size() > max_rank)
        refuse(status::invalid_shape, where, ": expected rank 0 to ", max_rank, ", given ", result.shape->size());
    return result;
}

void read_opsets(const file::Model &model, graph &g) {
    for (const auto &set : model.opset_import())
        if (!g.opsets.emplace(domain_of(set.domain()), set.version()).second)
            refuse(status::invalid_arguments, "opset_import: expected each domain once, given '", set.domain(),
                    "' more often");
    if (!g.opsets.contains(""))
        refuse(status::invalid_arguments, "opset_import: expected a version of ONNX's own operators, given none");
}

void read_initializers(const file::Graph &given, const std::string &folder, graph &g) {
    if (given.sparse_initializer_size() > 0)
        refuse(status::unimplemented, "initializers: expected dense ones, given a sparse one");
    for (const auto &t : given.initializer()) {
        const auto where = concat("initializer '", t.name(), "'");
        if (!g.initializers.emplace(t.name(), tensor_of(t, where, folder)).second)
            refuse(status::invalid_arguments, where, ": expected one of that name, given more");
    }
}

graph graph_of(const file::Model &model, const std::string &folder) {
    if (!model.has_graph())
        refuse(status::invalid_arguments, "expected a model with a graph, given bytes that state none");
    const auto &given = model.graph();
    graph g;
    g.name = given.name();
    read_opsets(model, g);
    read_initializers(given, folder, g);
    for (const auto &input : given.input())
        if (!g.initializers.contains(input.name())) g.inputs.push_back(port_of(input, "input"));
    for (const auto &output : given.output())
        g.outputs.push_back(port_of(output, "output"));
    for (const auto &n : given.node())
        g.nodes.push_back(node_of(n, folder));
    return g;
}

} // namespace

graph read(std::string_view bytes, const std::string &folder) {
    if (bytes.size() > std::numeric_limits<int>::max())
        refuse(status::invalid_arguments, "expected at most 2147483647 bytes, given ", bytes.size());
    graph g;
    {
        // An arena owns the message: protobuf's own lose what they have made where an allocation fails.
        google::protobuf::Arena arena;
        auto &model = *google::protobuf::Arena::CreateMessage<file::Model>(&arena);
        if (!model.ParseFromArray(bytes.data(), static_cast<int>(bytes.size())))
            refuse(status::invalid_arguments, "expected a model of ONNX, given bytes that are none or are cut short");
        g = graph_of(model, folder);
    } // frees the message, which holds the weights a second time
    order(g);
    return g;
}

} // namespace dynquant::models

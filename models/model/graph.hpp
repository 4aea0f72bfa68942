// models/model: libdynquant_model, which reads ONNX files and runs pre-quantized models.
// May include: dynquant's public headers, layers, onnx, parallel, quantization, oneDNN's C API, model_file.pb.h.
// model.cpp is the public API and shows the steps of a load: read (read.cpp, external_data.cpp, order.cpp),
// inline_constants (constants.cpp), infer (infer.cpp, by the rows of op_schema.cpp), then stages (fused_stages.cpp,
// which finds layers by src/layers/match, or plain_stages.cpp), then executor.cpp. operators/ has the operators,
// codify/ makes models. Start here: this header is the model as its file states it, before any check of operators,
// types and shapes.
#pragma once

#include <cstddef>
#include <map>
#include <optional>
#include <string>
#include <variant>
#include <vector>

#include "dynquant/onnx.hpp"

namespace dynquant::models {

struct tensor_type {
    onnx::element_type type = 0;
    dims shape;

    bool operator==(const tensor_type &) const = default;
};

/// Elements are dense, row-major and little endian. Elements of less than a byte are packed as in dynquant::onnx.
struct tensor {
    tensor_type what;
    std::vector<std::byte> data;

    bool operator==(const tensor &) const = default;
};

/// The numbers of AttributeProto.AttributeType that operators here have.
enum class attribute_type : std::int32_t { real = 1, integer, text, tensor, reals = 6, integers };

struct attribute {
    /// A value that no operator here has.
    struct other {
        attribute_type type;
        bool operator==(const other &) const = default;
    };

    std::string name;
    std::variant<std::int64_t, float, std::string, tensor, std::vector<std::int64_t>, std::vector<float>, other> value;

    attribute_type type() const;

    bool operator==(const attribute &) const = default;
};

struct node {
    std::string op_type;
    std::string domain = {}; // "" where the file says "ai.onnx"
    std::string name = {};   // may be empty
    /// Names of values. An empty name is an omitted optional value.
    std::vector<std::string> inputs = {}, outputs = {};
    std::vector<attribute> attributes = {};

    bool operator==(const node &) const = default;
};

/// An extent that the file does not fix.
inline constexpr std::int64_t free_extent = -1;

/// An input or an output of the graph. Without a shape its rank is not fixed.
struct port {
    std::string name;
    onnx::element_type type = 0;
    std::optional<dims> shape = {};
    /// Names of free extents (ONNX's dim_param). Extents of one name are equal. "" is no name.
    /// Empty where no extent has one.
    std::vector<std::string> names = {};

    bool operator==(const port &) const = default;
};

struct graph {
    std::string name = {};
    std::map<std::string, std::int64_t> opsets = {};     // by domain
    std::vector<node> nodes = {};                        // in topological order
    std::map<std::string, tensor> initializers = {};     // constant values, by name
    std::vector<port> inputs = {}, outputs = {};         // without inputs that are also initializers
    std::map<std::string, tensor_type> value_types = {}; // of all values, by name; filled by infer()

    bool operator==(const graph &) const = default;
};

/// "node 'fc1' (MatMulInteger)", or "node of 'y' (MatMulInteger)" for a node without a name.
std::string label(const node &n);

/// "[?, 64]": free extents are question marks. "of any rank" without a shape.
std::string text_of(const std::optional<dims> &shape);

/// Bits of an element. Empty for unknown types, and for types whose elements differ in size.
std::optional<int> bits_in(onnx::element_type type);

/// Bytes of a tensor. Empty where bits_in() is, or where there are 2^44 elements or more, extents of 0 counted as 1.
std::optional<std::int64_t> size_in_bytes(const tensor_type &what);

/// What messages say of that limit.
inline constexpr const char *size_limit = "fewer than 2^44 elements, where extents of 0 count as 1";

/// Throws error unless all operators are in ONNX's domain and in `known`. The message names all others.
void check_operators(const graph &g, const std::vector<std::string> &known);

/// Sorts the nodes topologically. Keeps the file's order where it is one. Throws error for a value without a definition
/// or with several, and for a cycle.
void order(graph &g);

/// Replaces Constant nodes by initializers. Throws error for a constant that is not numeric.
void inline_constants(graph &g);

} // namespace dynquant::models

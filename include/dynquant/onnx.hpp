// ONNX's quantization operators: lower() turns a node of a model into a statement (dynquant::quantization), prepare()
// into an operation.
//
//     dynquant::onnx::node n;
//     n.op_type = "QuantizeLinear";
//     n.opset = 21;
//     n.attributes = {{"axis", 0}};
//     n.inputs = {{1, {64, 768}}, {1, {64}}, {2, {64}}};      // float x and y_scale, uint8 y_zero_point
//     dynquant::onnx::operation op = dynquant::onnx::prepare(n);
//     op.run({x, y_scale, y_zero_point, y});
//
// Operators: QuantizeLinear and DequantizeLinear of opsets 10 to 28, DynamicQuantizeLinear, and ExtendedQuantizeLinear
// and ExtendedDequantizeLinear of the domain com.amd.quark. The text of the specification is onnx 1.23.2's. The domain
// dynquant has a DynamicQuantizeLinear of more types, granularities and rules: docs/onnx_operators.md specifies it.
// Other domains, com.microsoft among them, are refused.
//
// A node that breaks a rule of the specification throws dynquant::error, with a message that names the node and its
// attribute or input, what was expected and what was given. Its status: invalid_data_type for types, invalid_shape for
// shapes, unimplemented for unknown operators, domains and opsets, otherwise invalid_arguments.
//
// All functions may be called from many threads at once.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "dynquant/export.hpp"
#include "dynquant/quantization.hpp"

namespace dynquant::onnx {

/// A number of TensorProto.DataType: 1 is FLOAT, 2 is UINT8. 0, UNDEFINED, marks an input that is left out.
using element_type = std::int32_t;

/// The type of that number, or nothing when dynquant does not know it.
DYNQUANT_API std::optional<data_type> data_type_of(element_type type);
/// The number of that type. Throws error (invalid_data_type) for a value that is no enumerator.
DYNQUANT_API element_type element_type_of(data_type type);
/// "float16", as ONNX's tensor(float16); "type 99" when there is none of that number.
DYNQUANT_API std::string name_of(element_type type);

/// An attribute of a node. Every attribute of these operators is an integer, except `rule`, which is a string.
struct attribute {
    std::string name;
    std::int64_t i = 0;
    /// A number of AttributeProto.AttributeType; 2 is INT, 3 is STRING. A wrong one is an error that says so.
    std::int32_t type = 2;
    std::string s = {};
};

/// Type and shape of a tensor. An optional input that is left out has type 0.
struct value {
    element_type type = 0;
    dims shape = {};
};

/// A node of a model. The inputs come in the specification's order: x, scale, zero point.
struct node {
    std::string op_type;
    std::string domain = {}; // "" and "ai.onnx" are the same
    /// The version of the domain that the model imports.
    std::int64_t opset = 0;
    std::string name = {}; // for messages and verbose lines
    std::vector<attribute> attributes = {};
    std::vector<value> inputs = {};
};

/// The meaning of a node.
struct lowering {
    /// Computes the outputs from the inputs.
    quantization statement;
    /// Deprecated: whether statement.computed is there (DynamicQuantizeLinear).
    bool dynamic = false;
    /// Types and shapes as the specification infers them: y; for DynamicQuantizeLinear y, y_scale, y_zero_point.
    std::vector<value> outputs;
};

/// The types of the outputs. Checks every rule that needs no shapes, and ignores the shapes of the inputs.
DYNQUANT_API std::vector<element_type> output_types(const node &n);

/// Checks the node against its operator's specification and returns its meaning.
DYNQUANT_API lowering lower(const node &n);

/// The buffers of one run, dense and row-major, aligned to their type; elements of less than a byte are packed, the
/// first in the lowest bits, and bits beyond the elements of an output are preserved. Pointers of tensors that the node
/// lacks are ignored.
struct arguments {
    const void *x = nullptr;
    const void *scale = nullptr;
    const void *zero_point = nullptr;
    void *y = nullptr;
    void *y_scale = nullptr;      // DynamicQuantizeLinear
    void *y_zero_point = nullptr; // DynamicQuantizeLinear; may be null where scales are symmetric, which makes it 0
};

class prepared_node;

/// A node prepared by a kernel: immutable, cheap to copy (copies share), ready to run.
class DYNQUANT_API operation {
  public:
    operation() = default;
    explicit operation(std::shared_ptr<const prepared_node> node);

    explicit operator bool() const noexcept { return node_ != nullptr; }

    /// Computes the outputs, synchronously. One operation may run on many threads at once, each with its own outputs,
    /// which must not overlap the inputs. Takes no lock and allocates nothing, except within oneDNN if its kernel is
    /// forced. The bits are the same for every number of threads, and whatever the calling thread's rounding mode, FTZ,
    /// DAZ and exception masks.
    /// DynamicQuantizeLinear of both domains, where the specification of domain "" is silent: an empty x counts as
    /// zeros; a NaN in x makes the scale NaN and the codes the lowest one; where the formula of the zero point gives
    /// NaN, it is the highest code. In domain "" the scale of zeros is 1, as in ONNX Runtime. In domain dynquant the
    /// rule says what the scale of zeros is and whether NaN is skipped; zero points of symmetric scales are 0. The
    /// operators of com.amd.quark compute no scales. Throws error (invalid_arguments), having written nothing, when a
    /// buffer is null and its volume is not zero, or when the operation is empty.
    void run(const arguments &args) const;

    /// Which kernel and instruction set compute y. Throws error when the operation is empty.
    operation_info info() const;

    /// As lower() gives them. Throws error when the operation is empty.
    const std::vector<value> &outputs() const;

  private:
    std::shared_ptr<const prepared_node> node_;
};

/// lower(n), and a kernel for it as dynquant::prepare() chooses one. The options' name defaults to the node's.
/// Throws error: what lower(n) and dynquant::prepare() throw.
DYNQUANT_API operation prepare(const node &n, const options &opts = {});

} // namespace dynquant::onnx

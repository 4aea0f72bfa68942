// Models: a network whose quantization is codified in ONNX's own operators, read from its file and run.
//
//     const auto m = dynquant::model::load("model.onnx");
//     std::vector<std::int8_t> y(...);                            // type and shape: m.outputs()
//     m.run({x}, {y.data()});
//
// Operators of domain "": MatMulInteger, ConvInteger (weights int8 and constant), Add, Mul, Cast, Relu, Tanh, Sigmoid,
// QuantizeLinear, DequantizeLinear, MaxPool, Flatten, Reshape, Transpose, Identity, Constant, and of float models Gemm,
// MatMul and Conv; opsets 10 to 28. models/docs/prequantized.md lists their types. Zero points of products are
// constant: one for x; for weights one, or one for each column (in MatMulInteger also of each matrix) or filter.
//
// An invalid file or argument throws dynquant::error, whose message names the file, the node and the tensor, what was
// expected and what was given. Its status: invalid_data_type for types, invalid_shape for shapes, unimplemented for
// what is not supported, out_of_memory for a model that is too large, otherwise invalid_arguments.
#pragma once

#include <cstddef>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "dynquant/onnx.hpp"

namespace dynquant {

struct model_options {
    /// Fuse nodes where the results have the same bits.
    bool fuse = true;
    /// At most this many threads, and no more than the machine has. 0: the concurrency of the caller's task arena, or
    /// of OpenMP.
    int threads = 0;
    /// Shapes of inputs that the file leaves open, by name.
    std::map<std::string, dims> shapes = {};
    /// For QuantizeLinear, DequantizeLinear and the like.
    options kernel = {};
    /// The folder of the files in which a model may keep tensors (ONNX's external data). load() takes that of its path
    /// where this is empty.
    std::string folder = {};
};

/// An input or an output, dense and row-major.
struct model_port {
    std::string name;
    onnx::element_type type = 0; // a number of TensorProto.DataType: 1 is FLOAT
    dims shape = {};
};

/// How the sums of a layer are rescaled. One multiplier for all channels, or one for each.
struct model_rescale {
    std::vector<float> multipliers; // of the only Mul, or of the first of two (Quant_scale)
    std::vector<float> shifts = {}; // of the second (Quant_shift, a power of two); empty without a second Mul
    bool folded = false;            // whether one multiplication replaces both, with the same results
};

/// A step of the run.
struct model_stage {
    std::string name;                                  // of its product or only node, or of that node's output
    std::string pattern;                               // what it computes; the operator of a single node
    std::vector<std::string> nodes;                    // its nodes, "'fc1' (MatMulInteger)"
    std::string note = {};                             // why it is not fused or folded; unusual multipliers
    std::vector<model_port> inputs = {}, outputs = {}; // without constants
    std::optional<model_rescale> rescale = {};         // of a layer with one or two Muls right behind Cast
    std::string warning = {};                          // not empty when its sums may wrap; has their bound
};

/// A model, prepared: immutable, cheap to copy (copies share), ready to run.
class DYNQUANT_API model {
  public:
    /// Throws error.
    static model load(const std::string &path, const model_options &opts = {});
    /// `bytes` is a file's content; messages call it `name`.
    static model parse(std::string_view bytes, const std::string &name, const model_options &opts = {});

    model() = default;
    explicit operator bool() const noexcept { return impl_ != nullptr; }

    /// In the file's order. Throw error when the model is empty, as run() does.
    const std::vector<model_port> &inputs() const;
    const std::vector<model_port> &outputs() const;
    /// In the order in which they run.
    const std::vector<model_stage> &stages() const;

    /// Computes all outputs, synchronously. The buffers are in the order of inputs() and outputs(), aligned to their
    /// type; outputs overlap nothing. One model may run on many threads at once. The bits are the same for every number
    /// of threads, and whatever the calling thread's rounding mode, FTZ, DAZ and exception masks.
    /// Throws error (invalid_arguments), having written nothing, for a wrong number of buffers and for a null one whose
    /// volume is not zero.
    void run(const std::vector<const void *> &inputs, const std::vector<void *> &outputs) const;

  private:
    class implementation;
    explicit model(std::shared_ptr<const implementation> impl)
        : impl_(std::move(impl)) {}

    std::shared_ptr<const implementation> impl_;
};

} // namespace dynquant

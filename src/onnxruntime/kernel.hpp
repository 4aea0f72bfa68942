// The kernel of a node of a session.
#pragma once

#include <onnxruntime_c_api.h>

#include <array>
#include <optional>

#include "dynquant/onnx.hpp"
#include "onnxruntime/newest.hpp"
#include "onnxruntime/small_shape.hpp"

namespace dynquant::onnxruntime {

struct custom_op;

class kernel {
  public:
    /// Reads the node. compute() reports its errors, as ONNX Runtime changes the status of errors here.
    kernel(const custom_op &op, const OrtKernelInfo &info);

    /// Throws what onnx::prepare() throws. May be called from many threads at once.
    void compute(OrtKernelContext &context);

    const OrtApi &api() const { return api_; }

  private:
    /// An input that is part of the model: the same tensor, at the same address, for as long as the session lives.
    struct constant {
        const void *data;
        dims shape;
    };

    /// The inputs of a run. Constants and inputs that are left out have no shape here.
    struct inputs {
        std::array<const void *, 3> data = {};
        std::array<std::optional<small_shape>, 3> shapes;
    };

    /// The operation for inputs of certain shapes.
    struct cached_operation {
        std::array<std::optional<dims>, 3> shapes; // as in inputs
        onnx::operation operation;

        bool matches(const inputs &in) const;
    };

    inputs read_inputs(const OrtKernelContext &context) const;
    std::optional<constant> read_constant(const OrtKernelInfo &info, std::size_t index) const;
    cached_operation prepare(const inputs &in) const;
    void check_types(const onnx::operation &operation) const;

    const OrtApi &api_;
    const std::vector<onnx::element_type> &output_types_; // of the tensors that ONNX Runtime allocates
    onnx::node node_;                                     // without shapes, which come with the tensors
    // Cached, as reading them at each run would take longer than quantizing 256 elements.
    std::array<std::optional<constant>, 3> constants_;
    newest<cached_operation> cache_; // by shapes
};

} // namespace dynquant::onnxruntime

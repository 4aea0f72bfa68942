// A node of a session.
#pragma once

#include <onnxruntime_c_api.h>

#include <array>
#include <atomic>
#include <memory>
#include <optional>

#include "dynquant/onnx.hpp"

namespace dynquant::onnxruntime {

struct custom_op;

class kernel {
  public:
    /// Reads the node. What is wrong with it is said by compute(): ONNX Runtime gives what fails here another status.
    kernel(const custom_op &op, const OrtKernelInfo &info);

    /// Throws what onnx::prepare() throws. May be called from many threads at once.
    void compute(OrtKernelContext &context);

    const OrtApi &api() const { return api_; }

  private:
    struct input {
        const void *data = nullptr;
        onnx::value value; // type 0 where it is left out
    };
    using inputs = std::array<input, 3>;

    /// The operation for inputs of certain shapes.
    struct prepared {
        std::vector<onnx::value> given;
        onnx::operation operation;

        bool fits(const inputs &in) const;
    };

    inputs read_inputs(const OrtKernelContext &context) const;
    dims read_shape(const OrtValue &tensor) const;
    std::optional<dims> read_constant_shape(const OrtKernelInfo &info, std::size_t index) const;
    std::shared_ptr<const prepared> prepare(const inputs &in);
    void check_types(const onnx::operation &operation) const;
    void *output(OrtKernelContext &context, const prepared &p, std::size_t index) const;

    const OrtApi &api_;
    const std::vector<onnx::element_type> &output_types_; // for which ONNX Runtime makes the tensors
    onnx::node node_;                                     // without shapes, which come with the tensors
    // Of inputs that are part of the model: asking for one at each run would take longer than quantizing 256 elements.
    std::array<std::optional<dims>, 3> constant_shapes_;
    std::atomic<std::shared_ptr<const prepared>> last_;
};

} // namespace dynquant::onnxruntime

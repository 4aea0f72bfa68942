// The kernel of a node of a session: of a custom operator, or of a node that the execution provider claims.
#pragma once

#include <onnxruntime_c_api.h>

#include <array>
#include <limits>
#include <optional>

#include "dynquant/onnx.hpp"
#include "onnxruntime/common/small_shape.hpp"
#include "parallel/newest.hpp"

namespace dynquant::onnxruntime {

/// The places that a node's tensors have in a call.
struct node_ports {
    static constexpr std::size_t left_out = std::numeric_limits<std::size_t>::max();

    struct input {
        std::size_t index = left_out;
        /// The shape of a constant, which is the same tensor in each call. It is cached, as reading it at each run
        /// would take longer than quantizing 256 elements.
        std::optional<dims> shape = {};
        const void *data = nullptr; // of a constant, where its address is known
    };
    struct output {
        std::size_t index = left_out;
        onnx::element_type type = 0; // as which ONNX Runtime allocates it
    };

    std::array<input, 3> inputs;
    std::array<output, 3> outputs;
};

class kernel {
  public:
    /// The node comes without shapes.
    kernel(const OrtApi &api, onnx::node n, node_ports ports);

    /// Prepares for inputs of these shapes before they come. Nothing: left out, or constant. Throws what
    /// onnx::prepare() throws.
    using shapes = std::array<std::optional<dims>, 3>;
    void prepare_for(const shapes &s);

    /// During a session_threads. Throws what onnx::prepare() throws. May be called from many threads at once.
    void compute(OrtKernelContext &context);

    const OrtApi &api() const { return api_; }

  private:
    /// The inputs of a run.
    struct inputs {
        std::array<const void *, 3> data = {};
        std::array<std::optional<small_shape>, 3> shapes; // as in kernel::shapes
    };

    /// The operation for inputs of certain shapes.
    struct cached_operation {
        kernel::shapes shapes;
        onnx::operation operation;

        bool matches(const inputs &in) const;
    };

    inputs read_inputs(const OrtKernelContext &context) const;
    std::shared_ptr<const cached_operation> prepare(const shapes &s) const;
    void check_types(const onnx::operation &operation) const;

    const OrtApi &api_;
    onnx::node node_; // without shapes, which come with the tensors
    node_ports ports_;
    parallel::newest<cached_operation> cache_; // by shapes
};

} // namespace dynquant::onnxruntime

// The kernel of a node of ConvInteger.
#pragma once

#include <onnxruntime_c_api.h>

#include <exception>
#include <optional>

#include "layers/layer.hpp"
#include "layers/match/graph.hpp"
#include "onnxruntime/newest.hpp"
#include "parallel/pool.hpp"

namespace dynquant::onnxruntime {

struct custom_op;

class convolution_kernel {
  public:
    /// Packs the weights where they are constant. compute() reports what is wrong with the node, as ONNX Runtime
    /// changes the status of errors here.
    convolution_kernel(const custom_op &op, const OrtKernelInfo &info);

    /// Throws error. May be called from many threads at once.
    void compute(OrtKernelContext &context);

    const OrtApi &api() const { return api_; }

  private:
    enum input : std::size_t { x, w, x_zero_point, w_zero_point };

    const layers::match::node &node() const { return graph_.nodes.front(); }
    layers::layer_problem problem_of(const OrtValue &weights, const OrtValue *zero_points) const;
    layers::match::constant constant_of(const OrtValue &tensor, input i) const;
    std::int32_t read_x_zero_point(const OrtKernelContext &context) const;
    void run(const layers::layer &l, OrtKernelContext &context);

    template <typename... Parts>
    [[noreturn]] void refuse(const Parts &...parts) const;

    const OrtApi &api_;
    std::exception_ptr refusal_;                   // for compute()
    layers::match::graph graph_;                   // the node, without its weights and their zero points
    std::optional<layers::layer_problem> problem_; // none: weights or their zero points come with each run
    newest<layers::layer> layers_;                 // of problem_, by the shape of x
    parallel::object_pool<layers::run_memory> idle_;
};

} // namespace dynquant::onnxruntime

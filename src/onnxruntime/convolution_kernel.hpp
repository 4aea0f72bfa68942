// The kernel of a node of ConvInteger.
#pragma once

#include <onnxruntime_c_api.h>

#include <exception>
#include <optional>

#include "layers/layer.hpp"
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

    layers::layer_problem problem_of(const OrtValue &weights, const OrtValue *zero_points) const;
    std::vector<std::int32_t> w_zero_points_of(const OrtValue &tensor, std::int64_t filters) const;
    std::int32_t read_x_zero_point(const OrtKernelContext &context) const;
    void run(const layers::layer &l, OrtKernelContext &context);

    const OrtApi &api_;
    bool has_w_zero_point_;
    std::exception_ptr refusal_;                   // for compute()
    layers::layer_description description_;        // without what the weights and their zero points say
    std::optional<layers::layer_problem> problem_; // none: weights or their zero points come with each run
    newest<layers::layer> layers_;                 // of problem_, by the shape of x
    parallel::object_pool<layers::run_memory> idle_;
};

} // namespace dynquant::onnxruntime

#include <utility>

#include "layers/match/describe.hpp"
#include "onnxruntime/common/tensor.hpp"
#include "onnxruntime/provider/compiled.hpp"
#include "quantization/environment.hpp"

namespace dynquant::onnxruntime {
namespace {

class compiled_weight_only : public fused_node {
  public:
    compiled_weight_only(const compile_arguments &a, const layers::match::layer_match &m,
            std::shared_ptr<weight_only_workspace_pool> memory)
        : fused_node(a)
        , layer_(describe_weight_only(a.g, m), environment::usable_features())
        , x_input_(index_of(a.g, m.x, a.inputs))
        , idle_(std::move(memory)) {
        if (const auto &shape = a.g.values[m.x].shape; is_known(shape)) layer_.y_of(*shape);
    }

  private:
    void compute(OrtKernelContext &context) override {
        const auto &x = *input_of(api_, context, x_input_);
        const dims shape(shape_of(api_, x));
        auto *const y = static_cast<float *>(make_output(api_, context, 0, layer_.y_of(shape)));
        auto memory = idle_->take([] { return std::make_unique<layers::weight_only_layer::memory>(); });
        layer_.run(static_cast<const float *>(data_of(api_, x)), shape, y, *memory);
        idle_->give_back(std::move(memory));
    }

    layers::weight_only_layer layer_;
    std::size_t x_input_;
    std::shared_ptr<weight_only_workspace_pool> idle_;
};

} // namespace

std::unique_ptr<fused_node> compile_weight_only(const compile_arguments &a, const layers::match::layer_match &m,
        std::shared_ptr<weight_only_workspace_pool> memory) {
    return std::make_unique<compiled_weight_only>(a, m, std::move(memory));
}

} // namespace dynquant::onnxruntime

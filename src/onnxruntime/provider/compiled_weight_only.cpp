#include <utility>

#include "layers/match/describe.hpp"
#include "onnxruntime/common/tensor.hpp"
#include "onnxruntime/provider/compiled.hpp"
#include "quantization/environment.hpp"

namespace dynquant::onnxruntime {
namespace {

/// Whether what is added does not broadcast the product: to a convolution, or as Gemm's C.
bool keeps_shape(const node &product, std::size_t tensor) {
    return product.is(op::conv) || (product.has(2) && product.inputs[2] == tensor);
}

class compiled_weight_only : public fused_node {
  public:
    compiled_weight_only(const compile_arguments &a, const layers::match::layer_match &m,
            std::shared_ptr<weight_only_workspace_pool> memory)
        : fused_node(a)
        , label_(label(a.g, a.g.nodes[m.product]))
        , keeps_shape_(keeps_shape(a.g.nodes[m.product], m.tensor))
        , layer_(describe_weight_only(a.g, m), environment::usable_features())
        , x_input_(index_of(a.g, m.x, a.inputs))
        , tensor_input_(m.tensor == none ? none : index_of(a.g, m.tensor, a.inputs))
        , y_output_(index_of(a.g, m.y, a.outputs))
        , before_output_(m.before == none ? none : index_of(a.g, m.before, a.outputs))
        , idle_(std::move(memory)) {
        if (const auto &shape = a.g.values[m.x].shape; is_known(shape)) layer_.y_of(*shape);
    }

  private:
    void compute(OrtKernelContext &context) override {
        const auto &x = *input_of(api_, context, x_input_);
        dims shape(shape_of(api_, x));
        auto y_shape = layer_.y_of(shape);
        layers::layer_arguments args {data_of(api_, x), nullptr};
        auto memory = idle_->take([] { return std::make_unique<weight_only_memory>(); });
        if (tensor_input_ != none) {
            const auto &tensor = *input_of(api_, context, tensor_input_);
            args.tensor = static_cast<const float *>(data_of(api_, tensor));
            if (const auto of_tensor = shape_of(api_, tensor); of_tensor != y_shape) {
                const unequal_summands summands {label_, keeps_shape_, shape, y_shape, dims(of_tensor), sizeof(float)};
                shape = summands.repeat(args, memory->repeated);
                y_shape = layer_.y_of(shape);
            }
        }
        args.y = make_output(api_, context, y_output_, y_shape);
        if (before_output_ != none)
            args.before = static_cast<float *>(make_output(api_, context, before_output_, y_shape));
        layer_.run(args, shape, memory->of_layer);
        idle_->give_back(std::move(memory));
    }

    std::string label_;
    bool keeps_shape_;
    layers::weight_only_layer layer_;
    std::size_t x_input_, tensor_input_, y_output_, before_output_;
    std::shared_ptr<weight_only_workspace_pool> idle_;
};

} // namespace

std::unique_ptr<fused_node> compile_weight_only(const compile_arguments &a, const layers::match::layer_match &m,
        std::shared_ptr<weight_only_workspace_pool> memory) {
    return std::make_unique<compiled_weight_only>(a, m, std::move(memory));
}

} // namespace dynquant::onnxruntime

#include <utility>

#include "elements/small_float.hpp"
#include "layers/match/describe.hpp"
#include "onnxruntime/common/tensor.hpp"
#include "onnxruntime/provider/compiled.hpp"
#include "parallel/parallel.hpp"
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
        , is_half_(a.g.values[m.x].type == data_type::f16)
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
        if (is_half_) {
            run_half(args, shape, *volume(y_shape), *memory);
            return idle_->give_back(std::move(memory));
        }
        if (before_output_ != none)
            args.before = static_cast<float *>(make_output(api_, context, before_output_, y_shape));
        layer_.run(args, shape, memory->of_layer);
        idle_->give_back(std::move(memory));
    }

    /// x, which is f16, becomes f32, and y is rounded, as ONNX Runtime does without instructions for f16.
    void run_half(layers::layer_arguments args, const dims &shape, std::int64_t y_elements, weight_only_memory &m) {
        const auto *const x = static_cast<const float16 *>(args.x);
        auto *const y = static_cast<float16 *>(args.y);
        const auto x_elements = *volume(shape);
        auto *const of_x = layers::workspace::ensure_size(m.x, static_cast<std::size_t>(x_elements));
        auto *const of_y = layers::workspace::ensure_size(m.y, static_cast<std::size_t>(y_elements));
        const auto for_each = [](std::int64_t elements, const auto &f) {
            parallel::for_each_part(elements, parallel::parts_for_items(elements, elements), [&](parallel::range part) {
                for (auto i = part.begin; i < part.end; ++i)
                    f(i);
            });
        };
        for_each(x_elements, [=](std::int64_t i) { of_x[i] = x[i].value(); });
        args.x = of_x;
        args.y = of_y;
        layer_.run(args, shape, m.of_layer);
        for_each(y_elements, [=](std::int64_t i) { y[i] = float16::from(of_y[i]); });
    }

    std::string label_;
    bool is_half_, keeps_shape_;
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

#include "model/layer_stage.hpp"

#include <map>

#include "layers/match/describe.hpp"
#include "model/layer_view.hpp"
#include "model/operators/operators.hpp"
#include "model/operators/products.hpp"
#include "quantization/environment.hpp"
#include "quantization/shape.hpp"

namespace dynquant::models {
namespace {

struct prepared_layer {
    prepared_layer(
            const layers::layer_description &d, const std::byte *weights, targets::features available, const dims &x)
        : problem(d, weights, available)
        , work(problem, x) {}

    layers::packed_layer problem;
    layers::layer work;
};

/// A layer for each matrix of weights; a convolution is one.
class layers_of_matrices {
  public:
    layers_of_matrices(const matrices &plan, const layers::layer_description &d, targets::features available,
            const dims &x, const std::byte *w)
        : x_at_(plan.x_at) {
        const auto size = *volume(d.weights_shape);
        for (const auto at : plan.w_at) {
            if (!layers_.contains(at))
                layers_.try_emplace(at, layers::match::of_matrix(d, at), w + at * size, available, x);
            of_products_.push_back(&layers_.at(at).work);
        }
        x_bytes_ = *volume(x);
        y_bytes_ = *volume(layers_.begin()->second.work.y()) * (d.result == layers::result_type::bytes ? 1 : 4);
    }

    bool is_folded() const { return layers_.begin()->second.problem.is_folded(); }

    void run(const stage_arguments &args) const {
        const auto *const x = static_cast<const std::byte *>(args.inputs[0]);
        const auto x_scale = args.inputs.size() < 2 ? 1 : *static_cast<const float *>(args.inputs[1]);
        auto *y = static_cast<std::byte *>(args.output);
        for (std::size_t i = 0; i < x_at_.size(); ++i, y += y_bytes_)
            of_products_[i]->run({x + x_at_[i] * x_bytes_, y, {}, {&x_scale, 1}}, args.memory);
    }

  private:
    std::vector<std::int64_t> x_at_;                // of each product, the index of its matrix of x
    std::map<std::int64_t, prepared_layer> layers_; // by the index of the weight matrix
    std::vector<const layers::layer *> of_products_;
    std::int64_t x_bytes_, y_bytes_; // of one product
};

} // namespace

layer_stage make_layer_stage(const op_node &n, const layers::layer_description &d, const options &opts) {
    if (volume(n.schema.infer(n).shape) == 0) return {[](const stage_arguments &) {}, false};
    matrices plan;
    plan.x_at = plan.w_at = {0};
    auto x = n.shape(0);
    if (!d.is_convolution) {
        plan = plan_matrices(n);
        x = {plan.rows, plan.inner};
    }
    auto work = std::make_shared<const layers_of_matrices>(
            plan, d, environment::usable_features(opts.max_isa), x, n.constant(1).data.data());
    return {[work](const stage_arguments &args) { work->run(args); }, work->is_folded()};
}

prepared_node prepare_integer_product(const op_node &n, const options &opts) {
    const auto view = view_of(n);
    return {make_layer_stage(n, describe(view, view.nodes.front()), opts).work, 1};
}

} // namespace dynquant::models

#include <algorithm>
#include <map>

#include "layers/zero_points.hpp"
#include "model/operators/operators.hpp"
#include "model/operators/products.hpp"
#include "quantization/shape.hpp"

namespace dynquant::models {
namespace {

class matmul_integer final : public stage {
  public:
    matmul_integer(matmul_plan plan, std::int32_t x_zero_point, const std::int8_t *w)
        : plan_(std::move(plan))
        , x_zero_point_(x_zero_point) {
        const auto size = plan_.problem.inner * plan_.problem.columns;
        for (const auto at : plan_.w_at)
            if (!products_.contains(at)) products_.try_emplace(at, problem_of(plan_, at), w + at * size, x_zero_point);
    }

    std::size_t scratch_bytes() const override {
        return products_.empty() ? 0 : std::ranges::max_element(products_, {}, [](const auto &p) {
            return p.second.sums.scratch_bytes();
        })->second.sums.scratch_bytes();
    }

    void run(const stage_arguments &args) const override {
        const auto &p = plan_.problem;
        auto *y = static_cast<std::int32_t *>(args.output);
        if (p.rows * p.columns == 0) return;
        for (std::size_t i = 0; i < plan_.x_at.size(); ++i, y += p.rows * p.columns) {
            const auto &product = products_.at(plan_.w_at[i]);
            const auto *x = static_cast<const std::byte *>(args.inputs[0]) + plan_.x_at[i] * p.rows * p.inner;
            product.sums.run(x, x_zero_point_, y, args.scratch);
            layers::add_bias(product.bias, p.rows, y);
        }
    }

  private:
    struct product {
        product(const layers::integer_product::problem &p, const std::int8_t *w, std::int32_t x_zero_point)
            : sums(p, w)
            , bias(layers::zero_point_bias(sums.weight_sums(), x_zero_point)) {}

        layers::integer_product sums;
        std::vector<std::int32_t> bias;
    };

    matmul_plan plan_;
    std::int32_t x_zero_point_;
    std::map<std::int64_t, product> products_; // by index of the weight matrix
};

} // namespace

tensor_type infer_matmul_integer(const op_node &n) {
    return {onnx::type::int32, plan_matmul(n).y};
}

prepared_node prepare_matmul_integer(const op_node &n, const settings &s) {
    auto plan = plan_matmul(n);
    plan.problem.available = environment::usable_features(s.kernel.max_isa);
    return {std::make_unique<matmul_integer>(plan, x_zero_point_of(n), weights_of(n)), {0}};
}

} // namespace dynquant::models

// MatMulInteger by a stack of matrices.
#include "layers/match/describe.hpp"
#include "onnxruntime/common/tensor.hpp"
#include "onnxruntime/provider/x_parameters.hpp"
#include "parallel/newest.hpp"
#include "quantization/broadcast.hpp"
#include "quantization/environment.hpp"
#include "quantization/shape.hpp"
#include "quantization/text.hpp"

namespace dynquant::onnxruntime {
namespace {

using layers::match::layer_match;

/// A layer for each matrix. x is quantized as a whole.
class compiled_stack : public fused_node {
  public:
    compiled_stack(const compile_arguments &a, const layer_match &m)
        : fused_node(a)
        , quantizes_(m.quantize != none)
        , parameters_(a, m)
        , x_input_(index_of(a.g, m.x, a.inputs))
        , y_output_(index_of(a.g, m.y, a.outputs))
        , before_output_(m.before == none ? none : index_of(a.g, m.before, a.outputs)) {
        const auto &w = *a.g.input(a.g.nodes[m.product], 1).known;
        stack_.assign(w.shape.begin(), w.shape.end() - 2);
        const auto d = describe(a.g, m);
        const auto matrices = volume(stack_).value(), bytes = volume(d.weights_shape).value();
        for (std::int64_t i = 0; i < matrices; ++i)
            problems_.emplace_back(layers::match::of_matrix(d, i), w.data + i * bytes, environment::usable_features());
        if (const auto &shape = a.g.values[m.x].shape; is_known(shape)) prepared_.add(make_prepared(*shape));
    }

  private:
    /// What is prepared for one shape of x. A layer for each matrix of y takes one of x.
    struct prepared {
        dims x, y;
        std::vector<std::int64_t> x_at;                           // in elements
        std::vector<std::shared_ptr<const layers::layer>> layers; // of each matrix of y
        std::optional<layers::x_quantizer> quantizer;
    };
    struct memory {
        layers::quantized_x x;
        layers::workspace of_layers;
    };

    void compute(OrtKernelContext &context) override {
        const auto &x = *input_of(api_, context, x_input_);
        const auto shape = shape_of(api_, x);
        const auto matches = [&](const prepared &p) { return shape == p.x; };
        const auto current = prepared_.find_or_add(matches, [&] { return make_prepared(dims(shape)); });
        auto memory = idle_.take([] { return std::make_unique<compiled_stack::memory>(); });
        const auto *bytes = static_cast<const std::byte *>(data_of(api_, x));
        auto scale = parameters_.scale(context);
        auto zero_point = parameters_.zero_point(context);
        if (current->quantizer) {
            current->quantizer->run(bytes, memory->x);
            bytes = memory->x.bytes.data();
            scale = memory->x.scales.front();
            zero_point = memory->x.zero_points.front();
        }
        auto *y = static_cast<std::byte *>(make_output(api_, context, y_output_, current->y));
        auto *before = before_output_ == none
                ? nullptr
                : static_cast<float *>(make_output(api_, context, before_output_, current->y));
        const auto elements = current->layers.empty() ? 0 : *volume(current->layers.front()->y()); // of a matrix
        const auto y_bytes = elements * (problems_.front().description().result == layers::result_type::bytes ? 1 : 4);
        for (std::size_t i = 0; i < current->layers.size(); ++i, y += y_bytes) {
            current->layers[i]->run(
                    {bytes + current->x_at[i], y, {&zero_point, 1}, {&scale, 1}, nullptr, before}, memory->of_layers);
            if (before) before += elements;
        }
        idle_.give_back(std::move(memory));
    }

    /// The shapes are those of numpy.matmul: a vector is a matrix of one row, which y lacks.
    std::shared_ptr<const prepared> make_prepared(const dims &x) const {
        const auto &d = problems_.front().description();
        const auto inner = d.weights_shape[0], columns = d.weights_shape[1];
        if (x.empty() || x.back() != inner)
            throw error(status::invalid_shape,
                    concat(d.label, ": A: expected ", inner,
                            " columns, as many as the matrices of B have rows, given shape ", to_string(x)));
        const auto rows = x.size() > 1 ? x[x.size() - 2] : 1;
        const dims x_stack(x.begin(), x.end() - static_cast<std::ptrdiff_t>(std::min<std::size_t>(x.size(), 2)));
        const auto y_stack = broadcast_shape(x_stack, stack_);
        if (!y_stack)
            throw error(status::invalid_shape,
                    concat(d.label, ": A: expected dimensions before its matrices that broadcast with ",
                            to_string(stack_), ", those of B, given shape ", to_string(x)));
        prepared p {x, *y_stack, {}, {}, {}};
        if (x.size() > 1) p.y.push_back(rows);
        p.y.push_back(columns);
        const auto x_strides = broadcast_strides(x_stack, *y_stack), w_strides = broadcast_strides(stack_, *y_stack);
        std::vector<std::shared_ptr<const layers::layer>> of_matrices(problems_.size());
        const auto count = volume(p.y) == 0 ? 0 : volume(*y_stack).value();
        for (std::int64_t i = 0; i < count; ++i) {
            p.x_at.push_back(offset_of(i, *y_stack, x_strides) * rows * inner);
            const auto at = static_cast<std::size_t>(offset_of(i, *y_stack, w_strides));
            if (!of_matrices[at])
                of_matrices[at] = std::make_shared<const layers::layer>(problems_[at], dims {rows, inner});
            p.layers.push_back(of_matrices[at]);
        }
        if (quantizes_) p.quantizer.emplace(prepare, x, 1, dims {});
        return std::make_shared<const prepared>(std::move(p));
    }

    bool quantizes_;
    x_parameters parameters_;
    dims stack_; // of the weights, before their matrices
    std::vector<layers::packed_layer> problems_;
    std::size_t x_input_, y_output_, before_output_;
    parallel::newest<prepared> prepared_;
    parallel::object_pool<memory> idle_;
};

} // namespace

std::unique_ptr<fused_node> compile_stack(const compile_arguments &a, const layer_match &m) {
    return std::make_unique<compiled_stack>(a, m);
}

} // namespace dynquant::onnxruntime

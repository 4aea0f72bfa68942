#include <algorithm>

#include "layers/match/describe.hpp"
#include "onnxruntime/common/tensor.hpp"
#include "onnxruntime/provider/summand.hpp"
#include "onnxruntime/provider/x_parameters.hpp"
#include "parallel/newest.hpp"
#include "quantization/environment.hpp"
#include "quantization/shape.hpp"
#include "quantization/text.hpp"

namespace dynquant::onnxruntime {

using layers::match::layer_match;

namespace {

layers::packed_layer problem_of(const graph &g, const layer_match &m) {
    auto d = describe(g, m);
    if (m.quantize != none) d.prepare = prepare;
    return {std::move(d), g.input(g.nodes[m.product], 1).known->data, environment::usable_features()};
}

/// How many dimensions of 1 the weights of a product have before its matrix.
std::size_t leading_ones(const graph &g, const layer_match &m) {
    const auto &product = g.nodes[m.product];
    return product.is(op::mat_mul_integer) ? g.input(product, 1).known->shape.size() - 2 : 0;
}

/// The shape of y by the rules of numpy.matmul: it has the weights' dimensions of 1 that x lacks.
dims y_of(const layers::layer &l, std::size_t ones) {
    auto y = l.y();
    const auto rows = std::max<std::size_t>(l.x().size(), 2) - 2; // dimensions of x before its matrix
    if (ones > rows) y.insert(y.begin(), ones - rows, 1);
    return y;
}

/// Allocates nothing without such dimensions.
void *make_y(
        const OrtApi &api, OrtKernelContext &context, std::size_t output, const layers::layer &l, std::size_t ones) {
    return ones == 0 ? make_output(api, context, output, l.y()) : make_output(api, context, output, y_of(l, ones));
}

class compiled_layer : public fused_node {
  public:
    compiled_layer(const compile_arguments &a, const layer_match &m)
        : fused_node(a)
        , problem_(problem_of(a.g, m))
        , parameters_(a, m)
        , ones_(leading_ones(a.g, m))
        , x_input_(index_of(a.g, m.x, a.inputs))
        , y_output_(index_of(a.g, m.y, a.outputs))
        , before_output_(m.before == none ? none : index_of(a.g, m.before, a.outputs)) {
        if (m.tensor != none) tensor_input_ = index_of(a.g, m.tensor, a.inputs);
        if (const auto &shape = a.g.values[m.x].shape; is_known(shape)) layers_.add(make_layer(*shape));
    }

  private:
    struct memory {
        layers::workspace of_layer;
        repeated_operands repeated;
    };

    void compute(OrtKernelContext &context) override {
        const auto &x = *input_of(api_, context, x_input_);
        const auto shape = shape_of(api_, x);
        auto current = layer_for(shape);
        const auto zero_point = parameters_.zero_point(context);
        const auto scale = parameters_.scale(context);
        layers::layer_arguments args {data_of(api_, x), nullptr, {&zero_point, 1}, {&scale, 1}};
        auto memory = idle_.take([] { return std::make_unique<compiled_layer::memory>(); });
        auto ones = ones_;
        if (tensor_input_ != none) {
            const auto &tensor = *input_of(api_, context, tensor_input_);
            const auto of_tensor = shape_of(api_, tensor);
            args.tensor = static_cast<const float *>(data_of(api_, tensor));
            if (of_tensor != current->y()) {
                const auto &d = problem_.description();
                const unequal_summands summands {d.label, d.is_convolution, current->x(), y_of(*current, ones_),
                        dims(of_tensor), d.prepare ? sizeof(float) : 1, d.x_has_heads};
                const auto repeated = summands.repeat(args, memory->repeated);
                if (repeated != shape) ones = 0; // it has the sum's dimensions
                current = layer_for(repeated);
            }
        }
        args.y = make_y(api_, context, y_output_, *current, ones);
        if (before_output_ != none)
            args.before = static_cast<float *>(make_y(api_, context, before_output_, *current, ones));
        current->run(args, memory->of_layer);
        idle_.give_back(std::move(memory));
    }

    template <typename Shape>
    std::shared_ptr<const layers::layer> layer_for(const Shape &x) {
        const auto matches = [&](const layers::layer &l) { return x == l.x(); };
        return layers_.find_or_add(matches, [&] { return make_layer(dims(x)); });
    }

    std::shared_ptr<const layers::layer> make_layer(const dims &x) const {
        return std::make_shared<const layers::layer>(problem_, x);
    }

    layers::packed_layer problem_;
    x_parameters parameters_;
    std::size_t ones_, x_input_, y_output_, before_output_, tensor_input_ = none;
    parallel::newest<layers::layer> layers_; // by the shape of x
    parallel::object_pool<memory> idle_;
};

class compiled_group : public fused_node {
  public:
    compiled_group(const compile_arguments &a, const std::vector<layer_match> &matches)
        : fused_node(a) {
        for (const auto &m : matches)
            parts_.push_back({problem_of(a.g, m), leading_ones(a.g, m), index_of(a.g, m.y, a.outputs),
                    m.before == none ? none : index_of(a.g, m.before, a.outputs)});
        const auto x = a.g.nodes[a.g.values[matches.front().x].producer].inputs.front();
        x_input_ = index_of(a.g, x, a.inputs);
        if (const auto &shape = a.g.values[x].shape; is_known(shape)) prepared_.add(make_prepared(*shape));
    }

  private:
    void compute(OrtKernelContext &context) override {
        const auto &x = *input_of(api_, context, x_input_);
        const auto shape = shape_of(api_, x);
        const auto matches = [&](const prepared &p) { return shape == p.x; };
        const auto current = prepared_.find_or_add(matches, [&] { return make_prepared(dims(shape)); });
        auto memory = idle_.take([] { return std::make_unique<compiled_group::memory>(); });
        current->quantizer.run(data_of(api_, x), memory->x);
        const auto rows = static_cast<std::size_t>(current->quantizer.rows());
        for (std::size_t i = 0; i < parts_.size(); ++i) {
            const auto &l = *current->layers[i];
            const auto &p = parts_[i];
            layers::layer_arguments args {memory->x.bytes.data(), make_y(api_, context, p.output, l, p.ones),
                    {memory->x.zero_points.data(), rows}, {memory->x.scales.data(), rows}};
            if (p.before != none) args.before = static_cast<float *>(make_y(api_, context, p.before, l, p.ones));
            l.run(args, memory->of_layers);
        }
        idle_.give_back(std::move(memory));
    }

    struct part {
        layers::packed_layer problem;
        std::size_t ones, output, before; // before: none where nobody takes what is normalized
    };
    /// What is prepared for one shape of x.
    struct prepared {
        dims x;
        std::vector<std::unique_ptr<const layers::layer>> layers; // in the order of the parts
        layers::x_quantizer quantizer;
    };
    struct memory {
        layers::quantized_x x;
        layers::workspace of_layers;
    };

    std::shared_ptr<const prepared> make_prepared(const dims &x) const {
        std::vector<std::unique_ptr<const layers::layer>> made;
        for (const auto &p : parts_)
            made.push_back(std::make_unique<const layers::layer>(p.problem, x));
        const auto rows = made.front()->rows();
        return std::make_shared<const prepared>(prepared {x, std::move(made), {prepare, x, rows, {}}});
    }

    std::vector<part> parts_;
    std::size_t x_input_ = none;
    parallel::newest<prepared> prepared_;
    parallel::object_pool<memory> idle_;
};

class compiled_chain : public fused_node {
  public:
    compiled_chain(const compile_arguments &a, const std::vector<layer_match> &matches)
        : fused_node(a)
        , x_input_(index_of(a.g, matches.front().x, a.inputs)) {
        for (const auto &m : matches)
            problems_.push_back(problem_of(a.g, m));
        if (const auto &shape = a.g.values[matches.front().x].shape; is_known(shape))
            prepared_.add(make_prepared(*shape));
    }

  private:
    using layers_of_shape = std::vector<std::unique_ptr<const layers::layer>>;

    void compute(OrtKernelContext &context) override {
        const auto &x = *input_of(api_, context, x_input_);
        const auto shape = shape_of(api_, x);
        const auto matches = [&](const layers_of_shape &all) { return shape == all.front()->x(); };
        const auto current = prepared_.find_or_add(matches, [&] { return make_prepared(dims(shape)); });
        auto memory = idle_.take([] { return std::make_unique<compiled_chain::memory>(); });
        const void *from = data_of(api_, x);
        for (std::size_t i = 0; i < current->size(); ++i) {
            const auto &l = *(*current)[i];
            const bool is_last = i + 1 == current->size();
            void *const to = is_last ? make_output(api_, context, 0, l.y())
                                     : layers::workspace::ensure_size(memory->between[i % 2], bytes_of_y(i, l));
            l.run({from, to}, memory->of_layers);
            from = to;
        }
        idle_.give_back(std::move(memory));
    }

    std::size_t bytes_of_y(std::size_t i, const layers::layer &l) const {
        const std::size_t element = problems_[i].description().result == layers::result_type::bytes ? 1 : 4;
        return static_cast<std::size_t>(*volume(l.y())) * element;
    }

    std::shared_ptr<const layers_of_shape> make_prepared(dims x) const {
        layers_of_shape made;
        for (const auto &p : problems_) {
            made.push_back(std::make_unique<const layers::layer>(p, x));
            x = made.back()->y();
        }
        return std::make_shared<const layers_of_shape>(std::move(made));
    }

    struct memory {
        layers::aligned_vector<std::byte> between[2]; // layers: what one reads and what it writes
        layers::workspace of_layers;
    };

    std::vector<layers::packed_layer> problems_;
    std::size_t x_input_;
    parallel::newest<layers_of_shape> prepared_;
    parallel::object_pool<memory> idle_;
};

} // namespace

std::unique_ptr<fused_node> compile_layer(const compile_arguments &a, const layer_match &m) {
    return std::make_unique<compiled_layer>(a, m);
}

std::unique_ptr<fused_node> compile_group(const compile_arguments &a, const std::vector<layer_match> &matches) {
    return std::make_unique<compiled_group>(a, matches);
}

std::unique_ptr<fused_node> compile_chain(const compile_arguments &a, const std::vector<layer_match> &matches) {
    return std::make_unique<compiled_chain>(a, matches);
}

} // namespace dynquant::onnxruntime

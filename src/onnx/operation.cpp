// prepare() and the operation.
#include "onnx/operation.hpp"

#include <algorithm>

#include "onnx/extremes.hpp"
#include "onnx/refusal.hpp"
#include "quantization/isa.hpp"
#include "quantization/shape.hpp"

namespace dynquant::onnx {
class prepared_node {
  public:
    prepared_node(const node &n, lowering meaning, const options &opts, kernels::kernel_list kernels)
        : label_(label(n))
        , operation_(kernels::prepare(meaning.statement, opts, kernels, {"x", "scale", "zero_point", "y"}))
        , outputs_(std::move(meaning.outputs))
        , count_(volume(meaning.statement.src.dims).value_or(0))
        , dynamic_(meaning.dynamic)
        , find_(extremes_function_for(opts.max_isa ? std::min(*opts.max_isa, processor_isa()) : best_isa()))
        , threads_(opts.threads) {}

    void run(const arguments &args) const {
        try {
            if (dynamic_) return run_dynamic(args);
            operation_.run({args.x, args.scale, args.zero_point, args.y});
        } catch (const dnnl::error &e) {
            throw error(e.status, concat(label_, ": ", e.message));
        }
    }

    operation_info info() const { return operation_.info(); }
    const std::vector<value> &outputs() const { return outputs_; }

  private:
    static void require(const void *buffer, const char *name) {
        if (!buffer) throw error(dnnl_invalid_arguments, concat(name, ": expected a buffer, given a null pointer"));
    }

    void run_dynamic(const arguments &args) const {
        if (count_ != 0) {
            require(args.x, "x");
            require(args.y, "y");
        }
        require(args.y_scale, "y_scale");
        require(args.y_zero_point, "y_zero_point");
        const auto found = find_extremes(find_, static_cast<const float *>(args.x), count_, threads_);
        const auto parameters = compute_parameters(found);
        operation_.run({args.x, &parameters.scale, &parameters.zero_point, args.y});
        *args.y_scale = parameters.scale;
        *args.y_zero_point = parameters.zero_point;
    }

    std::string label_;
    dynquant::operation operation_;
    std::vector<value> outputs_;
    std::int64_t count_;
    bool dynamic_;
    extremes_function find_;
    int threads_;
};

namespace {

const prepared_node &required(const std::shared_ptr<const prepared_node> &node) {
    if (!node) throw error(dnnl_invalid_arguments, "operation: expected one made by prepare(), given an empty one");
    return *node;
}

} // namespace

operation::operation(std::shared_ptr<const prepared_node> node)
    : node_(std::move(node)) {}

void operation::run(const arguments &args) const {
    required(node_).run(args);
}

operation_info operation::info() const {
    return required(node_).info();
}

const std::vector<value> &operation::outputs() const {
    return required(node_).outputs();
}

operation prepare(const node &n, const options &opts, kernels::kernel_list kernels) {
    auto meaning = lower(n);
    auto named = opts;
    if (named.name.empty()) named.name = n.name;
    try {
        return operation(std::make_shared<const prepared_node>(n, std::move(meaning), named, kernels));
    } catch (const dnnl::error &e) {
        refuse(n, e.status, e.message);
    }
}

} // namespace dynquant::onnx

#include "program.hpp"

#include "limit/limit.hpp"
#include "quantization/environment.hpp"
#include "quantization/shape.hpp"
#include "quantization/text.hpp"
#include "text_parsing.hpp"

namespace dqbench {
namespace {

class graph_api_program final : public program {
  public:
    graph_api_program(const statement &s, const parameters &p)
        : program_(s, p) {}

    dynquant::dims dst_strides() const override { return program_.dst().get_strides(); }
    dynquant::operation_info info() const override { return program_.info(); }
    void bind(const buffers &b) override { program_.bind(b); }
    void execute() override { program_.execute(); }

  private:
    graph_program<with_dynquant> program_;
};

/// A program of an operation that runs on plain pointers.
template <typename Operation>
class pointer_program final : public program {
  public:
    pointer_program(Operation operation, dynquant::dims dst_strides)
        : operation_(std::move(operation))
        , dst_strides_(std::move(dst_strides)) {}

    dynquant::dims dst_strides() const override { return dst_strides_; }
    dynquant::operation_info info() const override { return operation_.info(); }
    void bind(const buffers &b) override {
        arguments_ = {b.src, b.scales, b.zero_points, b.dst, nullptr, b.zero_points, b.scales, b.zero_points};
    }
    void execute() override { operation_.run(arguments_); }

  private:
    Operation operation_;
    dynquant::dims dst_strides_;
    dynquant::arguments arguments_;
};

class limit_kernel {
  public:
    explicit limit_kernel(std::unique_ptr<dynquant::kernels::implementation> implementation)
        : implementation_(std::move(implementation)) {}

    dynquant::operation_info info() const { return implementation_->info(); }
    void run(const dynquant::arguments &args) const { implementation_->run(args); }

  private:
    std::unique_ptr<dynquant::kernels::implementation> implementation_;
};

/// The strides of dst, which must be given: only the graph API can choose a layout.
const dynquant::dims &require_dst_strides(const statement &s) {
    if (!s.dst_strides)
        throw usage_error("--dtag: expected a layout with strides, as --api=direct and --kernel=limit need, given any");
    return *s.dst_strides;
}

} // namespace

std::unique_ptr<program> make_program(const test_case &c, const statement &s, const parameters &p) {
    if (c.kernel == kernel_choice::limit) return make_limit_program(s, p, require_dst_strides(s));
    if (c.api == api_kind::graph) return std::make_unique<graph_api_program>(s, p);
    const auto &strides = require_dst_strides(s);
    return std::make_unique<pointer_program<dynquant::operation>>(
            dynquant::prepare(s.direct(p, strides, s.rule())), strides);
}

std::unique_ptr<program> make_limit_program(
        const statement &s, const parameters &p, const dynquant::dims &dst_strides) {
    statement all_given = s;
    all_given.dynamic = true;
    const auto q = all_given.direct(p, dst_strides, s.rule());
    if (const auto wrong = dynquant::check(q)) throw usage_error(wrong->message);
    return std::make_unique<pointer_program<limit_kernel>>(
            limit_kernel(limit::prepare(q, dynquant::environment::usable_features())), dst_strides);
}

} // namespace dqbench

// prepare() and the operation.
#include <algorithm>

#include "kernels/kernels.hpp"
#include "parallel/float_control.hpp"
#include "quantization/data_type.hpp"
#include "quantization/elements.hpp"
#include "quantization/environment.hpp"
#include "quantization/isa.hpp"
#include "quantization/shape.hpp"
#include "quantization/text.hpp"
#include "quantization/verbose.hpp"

namespace dynquant {
namespace {

/// Known parameters in the type that a kernel reads.
std::vector<std::byte> encode(const parameter &p) {
    const auto count = static_cast<std::int64_t>(p.values.size());
    std::vector<std::byte> bytes(static_cast<std::size_t>(size_in_bytes(p.type, count)));
    for (std::int64_t i = 0; i < count; ++i)
        store(p.type, bytes.data(), i, p.values[static_cast<std::size_t>(i)]);
    return bytes;
}

void require(const void *buffer, const char *name) {
    if (!buffer) throw error(dnnl_invalid_arguments, concat(name, ": expected a buffer, given a null pointer"));
}

/// What every kernel's implementation is wrapped in: argument checks, zero volume, known parameters and
/// verbose lines.
class prepared final : public kernels::implementation {
  public:
    prepared(const quantization &q, const options &opts, std::unique_ptr<implementation> kernel)
        : kernel_(std::move(kernel))
        , empty_(volume(q.src.dims) == 0)
        , needs_scales_(q.scales.values.empty())
        , needs_zero_points_(q.zero_points && q.zero_points->values.empty())
        , scales_(encode(q.scales))
        , zero_points_(q.zero_points ? encode(*q.zero_points) : std::vector<std::byte> {}) {
        if (environment::verbose() > 0) description_ = verbose::describe(q, kernel_->info(), opts.name);
    }

    operation_info info() const override { return kernel_->info(); }

    void run(const arguments &given) const override {
        if (empty_) return;
        arguments args = given;
        if (!needs_scales_) args.scales = scales_.data();
        if (!needs_zero_points_) args.zero_points = zero_points_.data();
        require(args.src, "src");
        require(args.scales, "scales");
        if (needs_zero_points_) require(args.zero_points, "zps");
        require(args.dst, "dst");
        if (description_.empty()) return kernel_->run(args);
        const parallel::float_control control;
        run_and_print(args);
    }

  private:
    // Not inlined, so that the arithmetic stays within float_control; so is prepare_under_control().
    [[gnu::noinline]] void run_and_print(const arguments &args) const {
        verbose::print("exec", description_, verbose::milliseconds([&] { kernel_->run(args); }));
    }

    std::unique_ptr<implementation> kernel_;
    bool empty_, needs_scales_, needs_zero_points_;
    std::vector<std::byte> scales_, zero_points_;
    std::string description_; // empty: verbose is off
};

const kernels::implementation &required(const std::shared_ptr<const kernels::implementation> &implementation) {
    if (!implementation)
        throw error(dnnl_invalid_arguments, "operation: expected one made by prepare(), given an empty one");
    return *implementation;
}

[[gnu::noinline]] operation prepare_under_control(const quantization &q, const options &opts) {
    if (const auto wrong = check(q)) throw error(wrong->status, wrong->message);
    kernels::settings settings;
    settings.max_isa = opts.max_isa ? std::min(*opts.max_isa, processor_isa()) : best_isa();
    settings.threads = opts.threads;
    const auto &kernel = kernels::choose(q, settings, opts.kernel ? opts.kernel : environment::kernel());

    std::shared_ptr<const prepared> result;
    const double ms = verbose::milliseconds(
            [&] { result = std::make_shared<const prepared>(q, opts, kernel.prepare(q, settings)); });
    if (environment::verbose() > 1) verbose::print("create", verbose::describe(q, result->info(), opts.name), ms);
    return operation(result);
}

} // namespace

operation prepare(const quantization &q, const options &opts) {
    // Known parameters are converted: the caller's flushing would lose subnormal ones, its traps would spring.
    const parallel::float_control control;
    return prepare_under_control(q, opts);
}

operation::operation(std::shared_ptr<const kernels::implementation> implementation)
    : implementation_(std::move(implementation)) {}

void operation::run(const arguments &args) const {
    required(implementation_).run(args);
}

operation_info operation::info() const {
    return required(implementation_).info();
}

} // namespace dynquant

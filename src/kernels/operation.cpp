// The operation: a kernel's implementation, wrapped in what all kernels have in common.
#include <algorithm>

#include "elements/load_store.hpp"
#include "elements/table.hpp"
#include "kernels/kernels.hpp"
#include "parallel/float_control.hpp"
#include "quantization/environment.hpp"
#include "quantization/names.hpp"
#include "quantization/shape.hpp"
#include "quantization/verbose.hpp"

namespace dynquant {
namespace {

/// Encodes known parameters in the data type that kernels read.
std::vector<std::byte> encode(const parameter &p) {
    const auto count = static_cast<std::int64_t>(p.values.size());
    std::vector<std::byte> bytes(static_cast<std::size_t>(size_in_bytes(p.type, count)));
    for (std::int64_t i = 0; i < count; ++i)
        store(p.type, bytes.data(), i, p.values[static_cast<std::size_t>(i)]);
    return bytes;
}

/// Throws error for invalid options. Whether a kernel can compute the statement is found out later.
void check_options(const options &opts) {
    if (opts.threads < 0)
        throw error(status::invalid_arguments, concat("threads: expected 0 or more, given ", opts.threads));
    if (opts.kernel)
        if (const auto wrong = wrong_enumerator("kernel", *opts.kernel)) throw error(status::invalid_arguments, *wrong);
    if (opts.max_isa)
        if (const auto wrong = wrong_enumerator("max_isa", *opts.max_isa))
            throw error(status::invalid_arguments, *wrong);
}

[[noreturn, gnu::noinline]] void refuse_null(const char *name) {
    throw error(status::invalid_arguments, concat(name, ": expected a buffer, given a null pointer"));
}

/// A parameter buffer for a kernel's run(): the statement's known values, or else the caller's buffer.
class parameter_argument {
  public:
    /// `p` is null if the statement has no such parameters. The buffer is then null.
    parameter_argument(const char *name, const parameter *p)
        : name_(name)
        , given_at_run_(p && p->values.empty()) {
        if (p) known_ = encode(*p);
    }

    /// Throws error if the caller's buffer is needed and null.
    const void *or_known(const void *given) const {
        if (!given_at_run_) return known_.data();
        if (!given) refuse_null(name_);
        return given;
    }

  private:
    const char *name_;
    bool given_at_run_;
    std::vector<std::byte> known_;
};

const parameter *address_of(const std::optional<parameter> &p) {
    return p ? &*p : nullptr;
}

/// Wraps every kernel's implementation: argument checks, zero volume, known parameters and verbose lines.
class prepared final : public kernels::implementation {
  public:
    prepared(const quantization &q, const options &opts, const kernels::argument_names &names,
            std::unique_ptr<implementation> kernel)
        : kernel_(std::move(kernel))
        , empty_(volume(q.src.dims) == 0)
        , has_optional_arguments_(q.second_scales || q.computed)
        , computes_(q.computed)
        , writes_dst_(!q.computed || !q.computed->scales_only)
        , writes_zero_points_(q.computed && q.zero_points)
        , names_(names)
        , scales_(names.scales, q.computed ? nullptr : &q.scales)
        , zero_points_(names.zero_points, q.computed ? nullptr : address_of(q.zero_points))
        , second_scales_(names.second_scales, address_of(q.second_scales)) {
        if (environment::verbose() > 0) description_ = verbose::describe(q, info(), opts.name);
    }

    operation_info info() const override { return kernel_->info(); }

    void run(const arguments &given) const override {
        if (empty_) return;
        if (!given.src) refuse_null(names_.src);
        arguments args = {given.src, scales_.or_known(given.scales), zero_points_.or_known(given.zero_points),
                given.dst, nullptr, nullptr, nullptr};
        if (has_optional_arguments_) bind_optional_arguments(given, args); // saves time for the other statements
        if (!given.dst && writes_dst_) refuse_null(names_.dst);
        if (description_.empty()) return kernel_->run(args);
        const parallel::float_control control;
        run_and_print(args);
    }

  private:
    [[gnu::noinline]] void bind_optional_arguments(const arguments &given, arguments &args) const {
        args.second_scales = second_scales_.or_known(given.second_scales);
        if (!computes_) return;
        args.computed_scales = given.computed_scales;
        args.computed_zero_points = given.computed_zero_points;
        if (!given.computed_scales) refuse_null(names_.scales);
        if (!given.computed_zero_points && writes_zero_points_) refuse_null(names_.zero_points);
    }

    // Not inlined, so that compilers do not move arithmetic out of float_control's scope.
    [[gnu::noinline]] void run_and_print(const arguments &args) const {
        verbose::print("exec", description_, verbose::milliseconds([&] { kernel_->run(args); }));
    }

    std::unique_ptr<implementation> kernel_;
    bool empty_, has_optional_arguments_, computes_, writes_dst_, writes_zero_points_;
    kernels::argument_names names_;
    parameter_argument scales_, zero_points_, second_scales_;
    std::string description_; // empty: verbose is off
};

const kernels::implementation &required(const std::shared_ptr<const kernels::implementation> &implementation) {
    if (!implementation)
        throw error(status::invalid_arguments, "operation: expected one made by prepare(), given an empty one");
    return *implementation;
}

// Not inlined, for the same reason as prepared::run_and_print().
[[gnu::noinline]] operation prepare_under_control(const quantization &q, const options &opts,
        kernels::kernel_list kernels, const kernels::argument_names &names) {
    check_options(opts);
    kernels::settings settings;
    settings.available = environment::usable_features(opts.max_isa);
    settings.threads = opts.threads;
    const auto forced = opts.kernel ? opts.kernel : environment::kernel();

    std::shared_ptr<const prepared> result;
    const double ms = verbose::milliseconds([&] {
        auto implementation = kernels::prepare_by_one(q, settings, forced, kernels);
        result = std::make_shared<const prepared>(q, opts, names, std::move(implementation));
    });
    if (environment::verbose() > 1) verbose::print("create", verbose::describe(q, result->info(), opts.name), ms);
    return operation(result);
}

} // namespace

operation kernels::prepare(
        const quantization &q, const options &opts, kernel_list kernels, const argument_names &names) {
    // For the conversion of known parameters: the caller's control word may flush subnormals or enable traps.
    const parallel::float_control control;
    return prepare_under_control(q, opts, kernels, names);
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

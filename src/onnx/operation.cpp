// prepare() and the operation.
#include "onnx/operation.hpp"

#include <cstring>

#include "elements/table.hpp"
#include "onnx/refusal.hpp"
#include "quantization/shape.hpp"

namespace dynquant::onnx {
namespace {

kernels::argument_names names_for(const quantization &q) {
    if (q.computed) return {"x", "y_scale", "y_zero_point", "y"};
    return {"x", "scale", "zero_point", "y"};
}

constexpr float zero = 0;

/// Computed parameters of an x without elements are those of blocks of zeros: a statement that writes `count` of them,
/// all from one zero.
quantization of_zeros(quantization q, std::int64_t count) {
    q.src = {data_type::f32, {count}, {0}};
    q.dst = {q.dst.type, {count}, {}};
    q.scales.block = {1};
    if (q.zero_points) q.zero_points->block = {1};
    q.computed->scales_only = true;
    return q;
}

/// Makes elements 0. Bits beyond them are preserved, as a kernel does.
void write_zeros(data_type type, std::int64_t count, void *to) {
    const auto rest = count % 8 * traits(type).bits % 8; // of the last byte
    const auto bytes = static_cast<std::size_t>(size_in_bytes(type, count)) - (rest != 0 ? 1 : 0);
    std::memset(to, 0, bytes);
    if (rest != 0) static_cast<std::uint8_t *>(to)[bytes] &= static_cast<std::uint8_t>(0xff << rest);
}

} // namespace

class prepared_node {
  public:
    prepared_node(const node &n, lowering meaning, const options &opts, kernels::kernel_list kernels)
        : label_(label(n))
        , outputs_(std::move(meaning.outputs))
        , y_(meaning.statement.dst.type)
        , reads_zero_(meaning.statement.computed && volume(meaning.statement.src.dims) == 0) {
        auto &q = meaning.statement;
        if (q.computed && !q.zero_points) zeros_ = *volume(outputs_[2].shape);
        if (reads_zero_) q = of_zeros(std::move(q), *volume(outputs_[1].shape));
        operation_ = kernels::prepare(q, opts, kernels, names_for(q));
    }

    void run(const arguments &args) const {
        try {
            operation_.run({reads_zero_ ? &zero : args.x, args.scale, args.zero_point, args.y, nullptr, args.y_scale,
                    args.y_zero_point});
            if (zeros_ != 0 && args.y_zero_point) write_zeros(y_, zeros_, args.y_zero_point);
        } catch (const error &e) {
            throw error(e.status, concat(label_, ": ", e.what()));
        }
    }

    operation_info info() const { return operation_.info(); }
    const std::vector<value> &outputs() const { return outputs_; }

  private:
    std::string label_;
    dynquant::operation operation_;
    std::vector<value> outputs_;
    data_type y_;
    bool reads_zero_;        // x has no elements
    std::int64_t zeros_ = 0; // zero points of symmetric scales
};

namespace {

const prepared_node &required(const std::shared_ptr<const prepared_node> &node) {
    if (!node) throw error(status::invalid_arguments, "operation: expected one made by prepare(), given an empty one");
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
    } catch (const error &e) {
        refuse(n, e.status, e.what());
    }
}

} // namespace dynquant::onnx

#include "graph/compiled_op.hpp"

#include "graph/check.hpp"
#include "graph/execution.hpp"
#include "graph/lowering.hpp"
#include "graph/refusal.hpp"
#include "quantization/onednn_type.hpp"
#include "quantization/shape.hpp"

namespace dynquant::graph::core {
namespace {

/// The numbers of tensors that compile was given, and the positions of the op's ports among them.
struct tensor_positions {
    static constexpr size_t none = static_cast<size_t>(-1);
    tensor_counts lists;
    size_t src = none, scales = none, zps = none, global_scale = none, dst = none;
    size_t computed_scales = none, computed_zps = none;
};

/// Replaces all ports of the op.
tensor_positions substitute(op_record &op, logical_tensors inputs, logical_tensors outputs) {
    const auto &schema = *find_schema(op);
    tensor_positions positions {{inputs.size(), outputs.size()}};
    const bool computed = computes_scales(op);
    size_t *const of_inputs[] = {
            &positions.src, computed ? &positions.global_scale : &positions.scales, &positions.zps};
    size_t *const of_outputs[] = {&positions.dst, &positions.computed_scales, &positions.computed_zps};
    for (size_t i = 0; i < op.inputs.size(); ++i)
        *of_inputs[i] = substitute(op, schema.inputs[i].name, op.inputs[i], "inputs", inputs);
    for (size_t i = 0; i < op.outputs.size(); ++i)
        *of_outputs[i] = substitute(op, schema.outputs[i].name, op.outputs[i], "outputs", outputs);
    return positions;
}

/// Sets the dims and strides of all outputs.
void set_final_shapes(op_record &op, const quantization &q) {
    set_final_shape(op.outputs.front(), q.dst.dims, dynquant::strides_of(q.dst));
    const auto counts = parameter_dims(op, q.src.dims);
    for (size_t i = input::scales; i < op.outputs.size(); ++i)
        set_final_shape(op.outputs[i], counts, row_major(counts));
}

class compiled_op : public compiled {
  public:
    compiled_op(op_record op, const tensor_positions &positions, operation prepared)
        : op_(std::move(op))
        , label_(core::label(op_))
        , positions_(positions)
        , prepared_(std::move(prepared)) {}

    std::string label() const override { return label_; }
    operation_info info() const override { return prepared_.info(); }

    const c_logical_tensor *find_port(size_t id) const override {
        for (const auto *ports : {&op_.inputs, &op_.outputs})
            for (const auto &port : *ports)
                if (port.id == id) return &port;
        return nullptr;
    }

    void execute(dnnl_stream_t stream, tensors inputs, tensors outputs) const override {
        const auto &positions = positions_;
        const auto &f = begin_execution(label_, stream, positions.lists, {inputs.size(), outputs.size()});
        const auto buffer = [&](const const_dnnl_graph_tensor_t *list, size_t position) {
            return position == tensor_positions::none ? nullptr : buffer_of(f, list[position]);
        };
        const auto *const in = inputs.data(), *const out = outputs.data();
        const arguments args = {buffer(in, positions.src), buffer(in, positions.scales), buffer(in, positions.zps),
                buffer(out, positions.dst), buffer(in, positions.global_scale), buffer(out, positions.computed_scales),
                buffer(out, positions.computed_zps)};
        prefix_errors(op_, [&] { prepared_.run(args); });
    }

  private:
    op_record op_; // with final ports
    std::string label_;
    tensor_positions positions_;
    operation prepared_;
};

class claimed_op : public claimed {
  public:
    explicit claimed_op(std::shared_ptr<const op_record> op)
        : op_(std::move(op)) {}

    std::string label() const override { return core::label(*op_); }
    std::vector<size_t> ids() const override { return {op_->id}; }
    const std::vector<c_logical_tensor> &inputs() const override { return op_->inputs; }
    const std::vector<c_logical_tensor> &outputs() const override { return op_->outputs; }

    std::unique_ptr<const compiled> compile(logical_tensors inputs, logical_tensors outputs, dnnl_fpmath_mode_t mode,
            kernels::kernel_list kernels) const override {
        auto op = *op_;
        const auto positions = substitute(op, inputs, outputs);
        const auto q = *check(op, stage::compile, mode == dnnl_fpmath_mode_any ? numerics::any : numerics::strict);

        share_threads_with_onednn();
        set_final_shapes(op, q);
        options opts;
        opts.name = core::label(op);
        kernels::argument_names names;
        names.second_scales = "global_scale";
        auto prepared = prefix_errors(op, [&] { return kernels::prepare(q, opts, kernels, names); });
        return std::make_unique<const compiled_op>(std::move(op), positions, std::move(prepared));
    }

  private:
    std::shared_ptr<const op_record> op_;
};

} // namespace

std::shared_ptr<const claimed> claim_op(std::shared_ptr<const op_record> op) {
    return std::make_shared<const claimed_op>(std::move(op));
}

} // namespace dynquant::graph::core

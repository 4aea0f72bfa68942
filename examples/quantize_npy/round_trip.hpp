// The oneDNN Graph program, a graph of two ops:
//
//     src --- DynamicQuantize --- integers --- DynamicDequantize --- restored
//                    |                                |
//               scales, zps                      scales, zps
//
// One template serves dnnl::graph and dynquant::graph, which differ in three types only.
#pragma once

#include <array>
#include <cstdint>
#include <functional>
#include <numeric>
#include <optional>
#include <string>
#include <vector>

#include <dynquant/graph.hpp>

namespace example {

using dnnl::graph::logical_tensor;
using data_type = logical_tensor::data_type;

struct onednn_graph {
    using op = dnnl::graph::op;
    using graph = dnnl::graph::graph;
    using compiled_partition = dnnl::graph::compiled_partition;
};

struct dynquant_graph {
    using op = dynquant::graph::op;
    using graph = dynquant::graph::graph;
    using compiled_partition = dynquant::graph::compiled_partition;
};

/// What the graph computes: the tensor, the integer type and the granularity of scales and zero points.
struct statement {
    std::vector<std::int64_t> dims, strides;
    data_type integers = data_type::u8;
    std::optional<std::int64_t> axis; // of the channels, maybe negative; none: per tensor

    std::size_t position() const { // of the axis, counted from the start
        return static_cast<std::size_t>(*axis < 0 ? *axis + std::ssize(dims) : *axis);
    }
    std::int64_t channels() const { return axis ? dims[position()] : 1; }
    std::int64_t volume() const {
        return std::accumulate(dims.begin(), dims.end(), std::int64_t(1), std::multiplies<>());
    }
};

enum class op_id : std::size_t { quantize, dequantize };

/// The five tensors' memory, in the order of their ids.
struct buffers {
    const float *src;
    const float *scales;
    const std::int32_t *zps;
    void *integers;
    float *restored;
};

template <typename Api>
class round_trip {
  public:
    /// Builds the graph. All members throw dnnl::error on a refusal.
    round_trip(const statement &s, const buffers &memory)
        : engine_(dnnl::engine::kind::cpu, 0)
        , stream_(engine_)
        , graph_(dnnl::engine::kind::cpu) {
        add_tensor(tensor(s, 0, data_type::f32), memory.src);
        add_tensor(parameter(s, 1, data_type::f32), memory.scales);
        add_tensor(parameter(s, 2, data_type::s32), memory.zps);
        add_tensor(tensor(s, 3, s.integers), memory.integers);
        add_tensor(tensor(s, 4, data_type::f32), memory.restored);
        add_op(s, op_id::quantize, Api::op::kind::DynamicQuantize, {0, 1, 2}, 3);
        add_op(s, op_id::dequantize, Api::op::kind::DynamicDequantize, {3, 1, 2}, 4);
        graph_.finalize();
    }

    void compile(op_id op) {
        for (const auto &partition : graph_.get_partitions()) {
            if (partition.get_ops().front() != static_cast<std::size_t>(op)) continue;
            step &done = steps_[static_cast<std::size_t>(op)];
            const auto inputs = partition.get_input_ports(), outputs = partition.get_output_ports();
            done.inputs = tensors_of(inputs);
            done.outputs = tensors_of(outputs);
            done.compiled = partition.compile(inputs, outputs, engine_);
        }
    }

    /// The kernel and instruction set of a compiled op; empty for oneDNN, whose API has no such query.
    std::string kernel(op_id op) const {
        const auto &compiled = steps_[static_cast<std::size_t>(op)].compiled;
        if constexpr (requires { compiled.get_info(); }) {
            const dynquant::operation_info info = compiled.get_info();
            return dynquant::to_string(info.kernel) + (", " + info.isa);
        }
        return {};
    }

    void execute(op_id op) {
        const step &ready = steps_[static_cast<std::size_t>(op)];
        ready.compiled.execute(stream_, ready.inputs, ready.outputs);
    }

  private:
    struct step {
        typename Api::compiled_partition compiled;
        std::vector<dnnl::graph::tensor> inputs, outputs;
    };

    static logical_tensor tensor(const statement &s, std::size_t id, data_type type) {
        if (s.dims.empty()) return {id, type, s.dims, logical_tensor::layout_type::strided};
        return {id, type, s.dims, s.strides};
    }

    static logical_tensor parameter(const statement &s, std::size_t id, data_type type) {
        const logical_tensor::dims count {s.channels()}; // {n} alone would select the constructor with a rank
        return {id, type, count, logical_tensor::layout_type::strided};
    }

    void add_tensor(const logical_tensor &port, const void *memory) {
        ports_.push_back(port);
        tensors_.emplace_back(port, engine_, const_cast<void *>(memory));
    }

    void add_op(const statement &s, op_id id, typename Api::op::kind kind, const std::array<std::size_t, 3> &inputs,
            std::size_t output) {
        using attr = typename Api::op::attr;
        const char *name = id == op_id::quantize ? "quantize" : "dequantize";
        typename Api::op op(static_cast<std::size_t>(id), kind, name);
        for (const auto input : inputs)
            op.add_input(ports_[input]);
        op.add_output(ports_[output]);
        op.template set_attr<std::string>(attr::qtype, s.axis ? "per_channel" : "per_tensor");
        if (s.axis) op.template set_attr<std::int64_t>(attr::axis, *s.axis);
        graph_.add_op(op);
    }

    std::vector<dnnl::graph::tensor> tensors_of(const std::vector<logical_tensor> &ports) const {
        std::vector<dnnl::graph::tensor> result;
        result.reserve(ports.size());
        for (const auto &port : ports)
            result.push_back(tensors_[port.get_id()]);
        return result;
    }

    dnnl::engine engine_;
    dnnl::stream stream_;
    typename Api::graph graph_;
    std::vector<logical_tensor> ports_;
    std::vector<dnnl::graph::tensor> tensors_;
    std::array<step, 2> steps_;
};

} // namespace example

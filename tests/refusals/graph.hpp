// Assertions of the graph API's errors. `op` is one of the ops of support/graph.hpp, which are all named op 3 'q'.
#pragma once

#include "support/graph.hpp"

namespace dynquant::test {

/// Whether add_op, with and without exceptions, and partition's constructor refuse the op, and the graph stays empty.
inline testing::AssertionResult add_refuses(const dg::op &op, dnnl_status_t status, const std::string &message) {
    dg::graph graph(dg::engine::kind::cpu);
    if (auto thrown = fails([&] { graph.add_op(op); }, status, message); !thrown) return thrown;
    if (graph.add_op(op, false) != static_cast<dg::status>(status))
        return testing::AssertionFailure() << "add_op without exceptions returns another status";
    if (auto thrown = fails([&] { dg::partition(op, dg::engine::kind::cpu); }, status, message); !thrown) return thrown;
    graph.finalize();
    if (!graph.get_partitions().empty()) return testing::AssertionFailure() << "the refused op is in the graph";
    return testing::AssertionSuccess();
}

/// How messages about the op begin.
template <typename Op>
std::string named(const Op &op) {
    auto which = kind::DynamicQuantize;
    if constexpr (requires { op.which; }) which = op.which;
    switch (which) {
        case kind::Quantize: return "op 3 'q' (Quantize): ";
        case kind::Dequantize: return "op 3 'q' (Dequantize): ";
        case kind::DynamicDequantize: return "op 3 'q' (DynamicDequantize): ";
        default: return "op 3 'q' (DynamicQuantize): ";
    }
}

template <typename Op>
testing::AssertionResult refuses(const Op &op, dnnl_status_t status, const std::string &message) {
    return add_refuses(op.make(), status, named(op) + message);
}

/// Once this attribute is set.
template <typename Op, typename T>
testing::AssertionResult refuses_with(const Op &op, attr name, const T &value, const std::string &message) {
    return add_refuses(op.make().set_attr(name, value), dnnl_invalid_graph_op, named(op) + message);
}

/// Whether add_op accepts the op and compile with these logical tensors refuses it.
template <typename Op>
testing::AssertionResult compile_refuses(const Op &op, const std::vector<lt> &inputs, const std::vector<lt> &outputs,
        dnnl_status_t status, const std::string &message) {
    const auto partition = partition_of(op.make());
    return fails([&] { partition.compile(inputs, outputs, cpu()); }, status, named(op) + message);
}
template <typename Op>
testing::AssertionResult compile_refuses(const Op &op, dnnl_status_t status, const std::string &message) {
    return compile_refuses(op, op.inputs(), {op.dst}, status, message);
}

} // namespace dynquant::test

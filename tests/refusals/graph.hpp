// Assertions of the graph API's errors. `op` is one of the ops of support/graph.hpp, which are all named op 3 'q'.
#pragma once

#include "names.hpp"
#include "support/graph.hpp"

namespace dynquant::test {

constexpr auto bad_argument = dnnl_invalid_arguments;
constexpr auto bad_shape = dnnl_invalid_shape;
constexpr auto bad_type = dnnl_invalid_data_type;
constexpr auto bad_op = dnnl_invalid_graph_op;

/// How messages about a DynamicQuantize begin.
inline const std::string q = "op 3 'q' (DynamicQuantize): ";

/// Whether add_op, with and without exceptions, and partition's constructor refuse the op, and the graph stays empty.
/// `message`: what fails() takes, the whole message or what it must name.
template <typename... Message>
testing::AssertionResult add_refuses(const dg::op &op, dnnl_status_t status, const Message &...message) {
    dg::graph graph(dg::engine::kind::cpu);
    if (auto thrown = fails([&] { graph.add_op(op); }, status, message...); !thrown) return thrown;
    if (graph.add_op(op, false) != static_cast<dg::status>(status))
        return testing::AssertionFailure() << "add_op without exceptions returns another status";
    if (auto thrown = fails([&] { dg::partition(op, dg::engine::kind::cpu); }, status, message...); !thrown)
        return thrown;
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

/// An op that add_op refuses.
struct refused_op {
    template <typename Op>
    refused_op(const Op &op, dnnl_status_t status, names message)
        : op(op.make())
        , where(named(op))
        , status(status)
        , message(std::move(message)) {}

    /// Once this attribute is set.
    template <typename Op, typename T>
    refused_op(const Op &op, attr name, const T &value, names message)
        : refused_op(op, dnnl_invalid_graph_op, std::move(message)) {
        this->op.set_attr(name, value);
    }

    dg::op op;
    std::string where;
    dnnl_status_t status;
    names message;
};
inline void expect_refused(const std::vector<refused_op> &ops) {
    for (const auto &r : ops)
        EXPECT_TRUE(add_refuses(r.op, r.status, r.message, r.where));
}

/// An op that add_op takes and compile refuses, with these logical tensors or its own.
struct refused_compilation : refused_op {
    template <typename Op>
    refused_compilation(const Op &op, dnnl_status_t status, names message)
        : refused_compilation(op, op.inputs(), {op.dst}, status, std::move(message)) {}
    template <typename Op>
    refused_compilation(
            const Op &op, std::vector<lt> inputs, std::vector<lt> outputs, dnnl_status_t status, names message)
        : refused_op(op, status, std::move(message))
        , inputs(std::move(inputs))
        , outputs(std::move(outputs)) {}

    std::vector<lt> inputs, outputs;
};
inline void expect_refused_by_compile(const std::vector<refused_compilation> &ops) {
    for (const auto &r : ops) {
        const auto partition = partition_of(r.op);
        EXPECT_TRUE(fails([&] { partition.compile(r.inputs, r.outputs, cpu()); }, r.status, r.message, r.where));
    }
}

} // namespace dynquant::test

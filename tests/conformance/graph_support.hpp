// What the tests of the graph API share: short names, an op to spoil, and the errors that it has to give.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "dynquant/graph.hpp"
#include "oneapi/dnnl/dnnl.h"
#include "oneapi/dnnl/dnnl_debug.h"
#include "support/single_op.hpp"

namespace dynquant::test {

using lt = dg::logical_tensor;
using type = lt::data_type;
using layout = lt::layout_type;
using kind = dg::op::kind;
using attr = dg::op::attr;

inline constexpr std::int64_t unknown = DNNL_GRAPH_UNKNOWN_DIM;

/// Dense row-major logical tensors.
inline lt f32(std::size_t id, const dims &shape) {
    return {id, type::f32, shape, layout::strided};
}
inline lt s32(std::size_t id, const dims &shape) {
    return {id, type::s32, shape, layout::strided};
}
inline lt s8(std::size_t id, const dims &shape) {
    return {id, type::s8, shape, layout::strided};
}
inline lt u8(std::size_t id, const dims &shape) {
    return {id, type::u8, shape, layout::strided};
}

/// What oneDNN's constructors cannot make, or make only by luck.
template <typename Change>
lt changed(const lt &t, Change &&change) {
    auto c_struct = *dg::core::c_structs(&t);
    change(c_struct);
    return lt(c_struct);
}

/// op 3 'q', a right per-channel DynamicQuantize. A test replaces what it is about.
struct dynamic_op {
    kind which = kind::DynamicQuantize;
    lt src = f32(0, {2, 4});
    lt scales = f32(1, {4});
    std::optional<lt> zps = s8(2, {4});
    lt dst = u8(3, {2, 4});
    std::string qtype = "per_channel";
    std::optional<std::int64_t> axis = {};

    std::vector<lt> inputs() const { return zps ? std::vector {src, scales, *zps} : std::vector {src, scales}; }
    dg::op make() const {
        dg::op op(3, which, inputs(), {dst}, "q");
        op.set_attr(attr::qtype, qtype);
        if (axis) op.set_attr(attr::axis, *axis);
        return op;
    }
};

/// op 3 'q', a right per-channel Quantize.
struct static_op {
    kind which = kind::Quantize;
    lt src = f32(0, {2, 4});
    lt dst = u8(3, {2, 4});
    std::string qtype = "per_channel";
    std::vector<float> scales = {1, 2, 3, 4};
    std::optional<std::vector<std::int64_t>> zps = std::vector<std::int64_t> {1, 2, 3, 4};

    dg::op make() const {
        dg::op op(3, which, {src}, {dst}, "q");
        op.set_attr(attr::qtype, qtype).set_attr(attr::scales, scales);
        if (zps) op.set_attr(attr::zps, *zps);
        return op;
    }
};

/// The partition of a graph of this op alone.
inline dg::partition partition_of(const dg::op &op) {
    dg::graph graph(dg::engine::kind::cpu);
    graph.add_op(op);
    graph.finalize();
    return graph.get_partitions().at(0);
}

/// Whether f throws just this error.
template <typename F>
testing::AssertionResult fails(F &&f, dnnl_status_t status, const std::string &message) {
    try {
        f();
    } catch (const dnnl::error &e) {
        if (e.status == status && message == e.what()) return testing::AssertionSuccess();
        return testing::AssertionFailure() << "expected status " << dnnl_status2str(status) << ": " << message
                                           << "\n   given status " << dnnl_status2str(e.status) << ": " << e.what();
    }
    return testing::AssertionFailure() << "no error; expected " << message;
}

/// Whether every way to hand an op over refuses it, and leaves the graph as it was. The message goes on
/// behind "op 3 'q' (DynamicQuantize): " or what else the op is called.
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

/// Whether add_op takes the op, and compile with these logical tensors refuses it.
inline testing::AssertionResult compile_refuses(const dg::op &op, const std::vector<lt> &inputs,
        const std::vector<lt> &outputs, dnnl_status_t status, const std::string &message) {
    const auto partition = partition_of(op);
    return fails([&] { partition.compile(inputs, outputs, cpu()); }, status, message);
}

/// The tensors of a call.
template <typename T>
dg::tensor tensor_of(const lt &description, std::vector<T> &values) {
    return {description, cpu(), values.data()};
}

} // namespace dynquant::test

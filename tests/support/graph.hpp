// Helpers of the graph API's tests: short names, valid ops for a test to change, and assertions of errors.
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

/// A logical tensor with members that oneDNN's constructors cannot set.
template <typename Change>
lt changed(const lt &t, Change &&change) {
    auto c_struct = *dg::core::c_structs(&t);
    change(c_struct);
    return lt(c_struct);
}

/// op 3 'q', a valid per-channel DynamicQuantize. A test changes single members.
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

/// op 3 'q', a valid per-channel Quantize.
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

/// The partition of a graph with only this op.
inline dg::partition partition_of(const dg::op &op) {
    dg::graph graph(dg::engine::kind::cpu);
    graph.add_op(op);
    graph.finalize();
    return graph.get_partitions().at(0);
}

/// Whether f throws an error with exactly this status and message.
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

/// Whether add_op accepts the op and compile with these logical tensors refuses it.
inline testing::AssertionResult compile_refuses(const dg::op &op, const std::vector<lt> &inputs,
        const std::vector<lt> &outputs, dnnl_status_t status, const std::string &message) {
    const auto partition = partition_of(op);
    return fails([&] { partition.compile(inputs, outputs, cpu()); }, status, message);
}

/// A tensor in the buffer of `values`.
template <typename T>
dg::tensor tensor_of(const lt &description, std::vector<T> &values) {
    return {description, cpu(), values.data()};
}

} // namespace dynquant::test

// Helpers of the graph API's tests: short names, valid ops for a test to change, and assertions of errors.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "direct.hpp"
#include "dynquant/graph.hpp"
#include "environment.hpp"
#include "fails.hpp"
#include "oneapi/dnnl/dnnl.h"
#include "single_op.hpp"

namespace dynquant::test {

template <>
struct error_with<dnnl_status_t> {
    using type = dnnl::error;
};

using lt = dg::logical_tensor;
using type = lt::data_type;
using layout = lt::layout_type;
using kind = dg::op::kind;
using attr = dg::op::attr;

inline constexpr std::int64_t unknown = DNNL_GRAPH_UNKNOWN_DIM;

using bytes = std::vector<std::byte>;
using numbers = std::vector<std::int64_t>;

/// Dense row-major logical tensors.
inline lt dense(std::size_t id, type t, const dims &shape) {
    return {id, t, shape, layout::strided};
}
inline lt f32(std::size_t id, const dims &shape) {
    return dense(id, type::f32, shape);
}
inline lt s32(std::size_t id, const dims &shape) {
    return dense(id, type::s32, shape);
}
inline lt s8(std::size_t id, const dims &shape) {
    return dense(id, type::s8, shape);
}
inline lt u8(std::size_t id, const dims &shape) {
    return dense(id, type::u8, shape);
}

/// Whether it is strided, of these dims and strides.
inline testing::AssertionResult is(const lt &t, const dims &shape, const dims &strides) {
    if (t.get_layout_type() != layout::strided) return testing::AssertionFailure() << "the layout is not strided";
    if (t.get_dims() != shape)
        return testing::AssertionFailure() << "dims are " << testing::PrintToString(t.get_dims());
    if (t.get_strides() != strides)
        return testing::AssertionFailure() << "strides are " << testing::PrintToString(t.get_strides());
    return testing::AssertionSuccess();
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

/// op 3 'q', a valid DynamicDequantize of a 2 x 3 src with a scale for each row, by its mask.
struct mask_op {
    kind which = kind::DynamicDequantize;
    lt src = s8(0, {2, 3});
    lt scales = f32(1, {2});
    std::optional<lt> zps = {};
    lt dst = f32(3, {2, 3});
    std::int64_t mask = 1;
    std::optional<numbers> group_shape = {};

    std::vector<lt> inputs() const { return zps ? std::vector {src, scales, *zps} : std::vector {src, scales}; }
    dg::op make() const {
        dg::op op(3, which, inputs(), {dst}, "q");
        op.set_attr(dg::newer::mask, mask);
        if (group_shape) op.set_attr(dg::newer::group_shape, *group_shape);
        return op;
    }
};

/// op 3 'q', a valid per-group DynamicDequantize of 8 x 2 weights, with two groups of 4 along the first dim.
struct group_op {
    kind which = kind::DynamicDequantize;
    lt src = dense(0, dg::newer::s4, {8, 2});
    lt scales = f32(1, {2, 2});
    std::optional<lt> zps = {};
    lt dst = f32(3, {8, 2});
    std::optional<numbers> group_shape = numbers {4, 1};

    std::vector<lt> inputs() const { return zps ? std::vector {src, scales, *zps} : std::vector {src, scales}; }
    dg::op make() const {
        dg::op op(3, which, inputs(), {dst}, "q");
        op.set_attr(attr::qtype, std::string("per_group"));
        if (group_shape) op.set_attr(dg::newer::group_shape, *group_shape);
        return op;
    }
};

/// op 3 'q', a valid DynamicQuantize of a 2 x 3 src with one scale.
struct computed_op {
    lt src = f32(0, {2, 3});
    std::optional<lt> global_scale = {};
    lt dst = s8(3, {2, 3}), scales = f32(4, {1});
    std::optional<lt> zps = {};
    std::string rule = "absmax";
    std::optional<std::string> qtype = {};
    std::optional<std::int64_t> axis = {}, mask = {};
    std::optional<numbers> group_shape = {};
    std::optional<bool> narrow = {}, saturate = {};
    std::optional<float> least = {}, of_zero = {};
    std::optional<std::string> quotient = {}, nonfinite = {};

    std::vector<lt> inputs() const { return global_scale ? std::vector {src, *global_scale} : std::vector {src}; }
    std::vector<lt> outputs() const { return zps ? std::vector {dst, scales, *zps} : std::vector {dst, scales}; }

    dg::op make() const {
        dg::op op(3, kind::DynamicQuantize, inputs(), outputs(), "q");
        op.set_attr(dg::own::scale_rule, rule);
        const auto set = [&](attr name, const auto &value) {
            if (value) op.set_attr(name, *value);
        };
        set(attr::qtype, qtype);
        set(attr::axis, axis);
        set(dg::newer::mask, mask);
        set(dg::newer::group_shape, group_shape);
        set(dg::own::narrow, narrow);
        set(dg::own::saturate, saturate);
        set(dg::own::least, least);
        set(dg::own::of_zero, of_zero);
        set(dg::own::quotient, quotient);
        set(dg::own::nonfinite, nonfinite);
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

/// A tensor in the buffer of `values`.
template <typename T>
dg::tensor tensor_of(const lt &description, std::vector<T> &values) {
    return {description, cpu(), values.data()};
}

inline bytes floats_of(const std::vector<float> &values) {
    return encode_reals(data_type::f32, values);
}

/// One byte each.
inline bytes integers_of(const std::vector<int> &values) {
    bytes result;
    for (const int value : values)
        result.push_back(static_cast<std::byte>(value & 0xff));
    return result;
}

/// What the compiled op makes of the buffers `given`. Results are of the sizes of `expected`, and 0xaa before.
inline std::vector<bytes> executed(const dg::compiled_partition &compiled, const std::vector<lt> &inputs,
        std::vector<bytes> given, const std::vector<lt> &outputs, const std::vector<bytes> &expected) {
    std::vector<bytes> results;
    for (const auto &each : expected)
        results.emplace_back(each.size(), std::byte {0xaa});
    std::vector<dg::tensor> in, out;
    for (std::size_t i = 0; i < given.size(); ++i)
        in.push_back(tensor_of(inputs[i], given[i]));
    for (std::size_t i = 0; i < results.size(); ++i)
        out.push_back(tensor_of(outputs[i], results[i]));
    dg::stream stream(cpu());
    compiled.execute(stream, in, out);
    return results;
}

/// Compiles and executes `op`, which has the ports of `ports`, by each kernel.
template <typename Ports>
void expect_gives(const dg::op &op, const Ports &ports, const std::vector<bytes> &given, const bytes &expected) {
    for (const auto &v : universal_variants()) {
        const scoped_variable kernel("DYNQUANT_KERNEL", to_string(v.kernel));
        const scoped_variable isa("DYNQUANT_MAX_ISA", to_string(v.max_isa));
        const auto compiled = partition_of(op).compile(ports.inputs(), {ports.dst}, cpu());
        EXPECT_EQ(executed(compiled, ports.inputs(), given, {ports.dst}, {expected}), std::vector<bytes> {expected})
                << v;
    }
}
template <typename Ports>
void expect_gives(const Ports &ports, const std::vector<bytes> &given, const bytes &expected) {
    expect_gives(ports.make(), ports, given, expected);
}

} // namespace dynquant::test

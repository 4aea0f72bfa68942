// What tests of oneDNN's C functions start from: ops, graphs, engine and stream.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "oneapi/dnnl/dnnl.h"
#include "oneapi/dnnl/dnnl_graph.h"

namespace dynquant::test {

using lt = dnnl_graph_logical_tensor_t;

inline void ok(dnnl_status_t status) {
    EXPECT_EQ(status, dnnl_success);
}

inline lt tensor_of(std::size_t id, dnnl_data_type_t type, std::vector<std::int64_t> shape) {
    lt t;
    EXPECT_EQ(dnnl_graph_logical_tensor_init_with_dims(&t, id, type, static_cast<int>(shape.size()), shape.data(),
                      dnnl_graph_layout_type_strided, dnnl_graph_tensor_property_variable),
            dnnl_success);
    return t;
}

inline const lt x = tensor_of(0, dnnl_f32, {2, 3}), scales = tensor_of(1, dnnl_f32, {3}),
                zps = tensor_of(2, dnnl_s8, {3}), y = tensor_of(3, dnnl_u8, {2, 3});

inline dnnl_graph_op_t create(
        std::size_t id, dnnl_graph_op_kind_t kind, const std::vector<lt> &inputs, const lt &output) {
    dnnl_graph_op_t op = nullptr;
    ok(dnnl_graph_op_create(&op, id, kind, "op"));
    for (const auto &t : inputs)
        ok(dnnl_graph_op_add_input(op, &t));
    ok(dnnl_graph_op_add_output(op, &output));
    return op;
}

/// DynamicQuantize of x, per_channel along an axis.
inline dnnl_graph_op_t create_quantize(std::size_t id, std::int64_t axis = 1, const lt &scale_tensor = scales) {
    const auto op = create(id, dnnl_graph_op_dynamic_quantize, {x, scale_tensor, zps}, y);
    ok(dnnl_graph_op_set_attr_str(op, dnnl_graph_op_attr_qtype, "per_channel", 11));
    ok(dnnl_graph_op_set_attr_s64(op, dnnl_graph_op_attr_axis, &axis, 1));
    return op;
}

/// Not yet compiled.
inline dnnl_graph_compiled_partition_t created(dnnl_graph_partition_t partition) {
    dnnl_graph_compiled_partition_t compiled = nullptr;
    ok(dnnl_graph_compiled_partition_create(&compiled, partition));
    return compiled;
}

inline dnnl_status_t destroy(dnnl_graph_op_t op) {
    return dnnl_graph_op_destroy(op);
}
inline dnnl_status_t destroy(dnnl_graph_partition_t partition) {
    return dnnl_graph_partition_destroy(partition);
}
inline dnnl_status_t destroy(dnnl_graph_compiled_partition_t compiled) {
    return dnnl_graph_compiled_partition_destroy(compiled);
}
inline dnnl_status_t destroy(dnnl_graph_tensor_t tensor) {
    return dnnl_graph_tensor_destroy(tensor);
}

class drop_in_functions : public testing::Test {
  protected:
    void SetUp() override {
        ok(dnnl_engine_create(&engine, dnnl_cpu, 0));
        ok(dnnl_stream_create(&stream, engine, dnnl_stream_default_flags));
        ok(dnnl_graph_graph_create(&graph, dnnl_cpu));
    }
    void TearDown() override {
        for (; !ends.empty(); ends.pop_back())
            ends.back()();
        if (graph) ok(dnnl_graph_graph_destroy(graph));
        ok(dnnl_stream_destroy(stream));
        ok(dnnl_engine_destroy(engine));
    }

    /// It is destroyed when the test ends.
    template <typename Handle>
    Handle kept(Handle handle) {
        ends.push_back([handle] { ok(destroy(handle)); });
        return handle;
    }

    std::vector<dnnl_graph_partition_t> partitions() {
        ok(dnnl_graph_graph_finalize(graph));
        ok(dnnl_graph_graph_filter(graph, dnnl_graph_partition_policy_fusion));
        std::size_t count = 0;
        ok(dnnl_graph_graph_get_partition_num(graph, &count));
        std::vector<dnnl_graph_partition_t> found(count);
        if (count > 0) ok(dnnl_graph_graph_get_partitions(graph, count, found.data()));
        return found;
    }

    /// The only partition of a graph of this op. Destroys op and graph.
    dnnl_graph_partition_t sole_partition(dnnl_graph_op_t op) {
        ok(dnnl_graph_add_op(graph, op));
        const auto found = partitions();
        EXPECT_EQ(found.size(), 1u);
        ok(dnnl_graph_op_destroy(op));
        ok(dnnl_graph_graph_destroy(graph));
        graph = nullptr;
        return found.front();
    }

    dnnl_status_t compile(dnnl_graph_partition_t partition, dnnl_graph_compiled_partition_t compiled,
            const std::vector<lt> &inputs = {x, scales, zps}, const lt &output = y) {
        std::vector<const lt *> in;
        for (const auto &t : inputs)
            in.push_back(&t);
        const lt *out[] = {&output};
        return dnnl_graph_partition_compile(partition, compiled, in.size(), in.data(), 1, out, engine);
    }

    dnnl_graph_compiled_partition_t compiled_quantize() {
        const auto partition = sole_partition(create_quantize(7));
        const auto compiled = kept(created(partition));
        EXPECT_EQ(compile(partition, compiled), dnnl_success);
        ok(dnnl_graph_partition_destroy(partition)); // the compiled partition outlives it
        return compiled;
    }

    dnnl_graph_tensor_t tensor(const lt &t, void *data) {
        dnnl_graph_tensor_t result = nullptr;
        ok(dnnl_graph_tensor_create(&result, &t, engine, data));
        return kept(result);
    }

    dnnl_engine_t engine = nullptr;
    dnnl_stream_t stream = nullptr;
    dnnl_graph_graph_t graph = nullptr;
    std::vector<std::function<void()>> ends;
};

} // namespace dynquant::test

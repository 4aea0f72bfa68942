// oneDNN's C functions behave as documented when the drop-in interposes them.
#include <cstdint>
#include <cstring>
#include <limits>
#include <malloc.h>
#include <thread>
#include <vector>

#include <gtest/gtest.h>

#include "oneapi/dnnl/dnnl.h"
#include "oneapi/dnnl/dnnl_graph.h"

// Newer than oneDNN 3.2's header.
extern "C" {
dnnl_status_t dnnl_graph_compiled_partition_execute_v2(const_dnnl_graph_compiled_partition_t, dnnl_stream_t, size_t,
        const_dnnl_graph_tensor_t *, size_t, const_dnnl_graph_tensor_t *, const_dnnl_graph_tensor_t);
dnnl_status_t dnnl_graph_compiled_partition_get_scratchpad_logical_tensor(
        const_dnnl_graph_compiled_partition_t, dnnl_graph_logical_tensor_t *);
dnnl_status_t dnnl_graph_graph_set_fpmath_mode(dnnl_graph_graph_t, dnnl_fpmath_mode_t, int);
}

namespace {

using lt = dnnl_graph_logical_tensor_t;

void ok(dnnl_status_t status) {
    EXPECT_EQ(status, dnnl_success);
}

lt tensor_of(std::size_t id, dnnl_data_type_t type, std::vector<std::int64_t> shape) {
    lt t;
    EXPECT_EQ(dnnl_graph_logical_tensor_init_with_dims(&t, id, type, static_cast<int>(shape.size()), shape.data(),
                      dnnl_graph_layout_type_strided, dnnl_graph_tensor_property_variable),
            dnnl_success);
    return t;
}

const lt x = tensor_of(0, dnnl_f32, {2, 3}), scales = tensor_of(1, dnnl_f32, {3}), zps = tensor_of(2, dnnl_s8, {3}),
         y = tensor_of(3, dnnl_u8, {2, 3});

dnnl_graph_op_t create(std::size_t id, dnnl_graph_op_kind_t kind, const std::vector<lt> &inputs, const lt &output) {
    dnnl_graph_op_t op = nullptr;
    ok(dnnl_graph_op_create(&op, id, kind, "op"));
    for (const auto &t : inputs)
        ok(dnnl_graph_op_add_input(op, &t));
    ok(dnnl_graph_op_add_output(op, &output));
    return op;
}

/// DynamicQuantize of x, per_channel along an axis.
dnnl_graph_op_t create_quantize(std::size_t id, std::int64_t axis = 1, const lt &scale_tensor = scales) {
    const auto op = create(id, dnnl_graph_op_dynamic_quantize, {x, scale_tensor, zps}, y);
    ok(dnnl_graph_op_set_attr_str(op, dnnl_graph_op_attr_qtype, "per_channel", 11));
    ok(dnnl_graph_op_set_attr_s64(op, dnnl_graph_op_attr_axis, &axis, 1));
    return op;
}

class drop_in_functions : public testing::Test {
  protected:
    void SetUp() override {
        ok(dnnl_engine_create(&engine, dnnl_cpu, 0));
        ok(dnnl_stream_create(&stream, engine, dnnl_stream_default_flags));
        ok(dnnl_graph_graph_create(&graph, dnnl_cpu));
    }
    void TearDown() override {
        if (graph) ok(dnnl_graph_graph_destroy(graph));
        ok(dnnl_stream_destroy(stream));
        ok(dnnl_engine_destroy(engine));
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
        dnnl_graph_compiled_partition_t compiled = nullptr;
        ok(dnnl_graph_compiled_partition_create(&compiled, partition));
        EXPECT_EQ(compile(partition, compiled), dnnl_success);
        ok(dnnl_graph_partition_destroy(partition)); // the compiled partition outlives it
        return compiled;
    }

    dnnl_graph_tensor_t tensor(const lt &t, void *data) {
        dnnl_graph_tensor_t result = nullptr;
        ok(dnnl_graph_tensor_create(&result, &t, engine, data));
        return result;
    }

    dnnl_engine_t engine = nullptr;
    dnnl_stream_t stream = nullptr;
    dnnl_graph_graph_t graph = nullptr;
};

/// src, scales, zps and dst of one call.
struct buffers {
    float src[6] = {-1, 1, 300, 2.5F, -3, 8}, scale[3] = {1, 0.5F, 2};
    std::int8_t zero_point[3] = {7, 0, 100};
    std::uint8_t dst[6] = {};

    std::vector<int> results() const { return {dst, dst + 6}; }
};
// -1 + 7, 1 / 0.5, 150 + 100; 2.5 + 7 is a tie, -6 saturates, 4 + 100.
const std::vector<int> expected = {6, 2, 250, 10, 0, 104};

TEST_F(drop_in_functions, both_ways_to_execute) {
    const auto compiled = compiled_quantize();
    buffers b;
    std::vector<dnnl_graph_tensor_t> made = {
            tensor(x, b.src), tensor(scales, b.scale), tensor(zps, b.zero_point), tensor(y, b.dst)};
    const_dnnl_graph_tensor_t in[] = {made[0], made[1], made[2]}, out[] = {made[3]};
    ok(dnnl_graph_compiled_partition_execute(compiled, stream, 3, in, 1, out));
    EXPECT_EQ(b.results(), expected);
    std::memset(b.dst, 0, sizeof b.dst);
    ok(dnnl_graph_compiled_partition_execute_v2(compiled, stream, 3, in, 1, out, nullptr));
    EXPECT_EQ(b.results(), expected);

    EXPECT_EQ(dnnl_graph_compiled_partition_execute(compiled, stream, 2, in, 1, out), dnnl_invalid_arguments);
    EXPECT_EQ(dnnl_graph_compiled_partition_execute(compiled, stream, 3, nullptr, 1, out), dnnl_invalid_arguments);
    EXPECT_EQ(dnnl_graph_compiled_partition_execute(compiled, nullptr, 3, in, 1, out), dnnl_invalid_arguments);
    for (const auto t : made)
        ok(dnnl_graph_tensor_destroy(t));
    ok(dnnl_graph_compiled_partition_destroy(compiled));
}

TEST_F(drop_in_functions, queries_of_a_compiled_partition) {
    const auto compiled = compiled_quantize();
    lt t;
    ok(dnnl_graph_compiled_partition_query_logical_tensor(compiled, 3, &t));
    EXPECT_EQ(t.ndims, 2);
    EXPECT_EQ(t.layout.strides[0], 3);
    ok(dnnl_graph_compiled_partition_query_logical_tensor(compiled, 99, &t));
    EXPECT_EQ(t.id, std::numeric_limits<std::size_t>::max());
    std::size_t pairs = 99;
    const dnnl_graph_inplace_pair_t *list = nullptr;
    ok(dnnl_graph_compiled_partition_get_inplace_ports(compiled, &pairs, &list));
    EXPECT_EQ(pairs, 0u);
    ok(dnnl_graph_compiled_partition_get_scratchpad_logical_tensor(compiled, &t));
    EXPECT_EQ(t.ndims, 1);
    EXPECT_EQ(t.dims[0], 0);
    EXPECT_EQ(dnnl_graph_compiled_partition_query_logical_tensor(compiled, 3, nullptr), dnnl_invalid_arguments);
    ok(dnnl_graph_compiled_partition_destroy(compiled));
}

TEST_F(drop_in_functions, layout_any_becomes_that_of_src) {
    const auto partition = sole_partition(create_quantize(7));
    dnnl_graph_compiled_partition_t compiled = nullptr;
    ok(dnnl_graph_compiled_partition_create(&compiled, partition));
    lt any = y;
    any.layout_type = dnnl_graph_layout_type_any;
    ok(compile(partition, compiled, {x, scales, zps}, any));
    lt t;
    ok(dnnl_graph_compiled_partition_query_logical_tensor(compiled, 3, &t));
    EXPECT_EQ(t.layout_type, dnnl_graph_layout_type_strided);
    ok(dnnl_graph_compiled_partition_destroy(compiled));
    ok(dnnl_graph_partition_destroy(partition));
}

TEST_F(drop_in_functions, null_handles_go_to_onednn) {
    EXPECT_EQ(dnnl_graph_op_create(nullptr, 0, dnnl_graph_op_quantize, "q"), dnnl_invalid_arguments);
    EXPECT_EQ(dnnl_graph_op_add_input(nullptr, &x), dnnl_invalid_arguments);
    EXPECT_EQ(dnnl_graph_add_op(graph, nullptr), dnnl_invalid_arguments);
    EXPECT_EQ(dnnl_graph_add_op(nullptr, nullptr), dnnl_invalid_arguments);
    EXPECT_EQ(dnnl_graph_partition_is_supported(nullptr, nullptr), dnnl_invalid_arguments);
    EXPECT_EQ(dnnl_graph_compiled_partition_create(nullptr, nullptr), dnnl_invalid_arguments);
    EXPECT_EQ(dnnl_graph_compiled_partition_execute(nullptr, stream, 0, nullptr, 0, nullptr), dnnl_invalid_arguments);
    ok(dnnl_graph_compiled_partition_destroy(nullptr));
    ok(dnnl_graph_op_destroy(nullptr));
}

TEST_F(drop_in_functions, null_lists_at_compile) {
    const auto partition = sole_partition(create_quantize(7));
    dnnl_graph_compiled_partition_t compiled = nullptr;
    ok(dnnl_graph_compiled_partition_create(&compiled, partition));
    const lt *in[] = {&x, nullptr, &zps}, *out[] = {&y};
    EXPECT_EQ(dnnl_graph_partition_compile(partition, compiled, 3, in, 1, out, engine), dnnl_invalid_arguments);
    EXPECT_EQ(dnnl_graph_partition_compile(partition, compiled, 3, nullptr, 1, out, engine), dnnl_invalid_arguments);
    EXPECT_EQ(dnnl_graph_partition_compile(partition, compiled, 3, in, 1, out, nullptr), dnnl_invalid_arguments);
    ok(dnnl_graph_compiled_partition_destroy(compiled));
    ok(dnnl_graph_partition_destroy(partition));
}

TEST_F(drop_in_functions, wrong_counts_are_refused_where_onednn_would_read_beyond) {
    const lt two = tensor_of(1, dnnl_f32, {2});
    const auto op = create_quantize(7, 1, two);
    EXPECT_EQ(dnnl_graph_add_op(graph, op), dnnl_invalid_shape);
    dnnl_graph_partition_t partition = nullptr;
    EXPECT_EQ(dnnl_graph_partition_create_with_op(&partition, op, dnnl_cpu), dnnl_invalid_shape);
    ok(dnnl_graph_op_destroy(op));

    lt unknown = scales;
    unknown.dims[0] = DNNL_GRAPH_UNKNOWN_DIM;
    partition = sole_partition(create_quantize(8, 1, unknown));
    dnnl_graph_compiled_partition_t compiled = nullptr;
    ok(dnnl_graph_compiled_partition_create(&compiled, partition));
    EXPECT_EQ(compile(partition, compiled, {x, two, zps}), dnnl_invalid_shape);
    ok(compile(partition, compiled)); // succeeds after the refusal
    ok(dnnl_graph_compiled_partition_destroy(compiled));
    ok(dnnl_graph_partition_destroy(partition));
}

TEST_F(drop_in_functions, what_onednn_takes_and_we_refuse_is_onednns) {
    const auto op = create(7, dnnl_graph_op_dequantize, {tensor_of(0, dnnl_u8, {4})}, tensor_of(1, dnnl_f32, {4}));
    const float scale = 2;
    const std::int64_t huge = std::int64_t {1} << 40; // s64 zps beyond s32 are refused by dynquant
    ok(dnnl_graph_op_set_attr_f32(op, dnnl_graph_op_attr_scales, &scale, 1));
    ok(dnnl_graph_op_set_attr_s64(op, dnnl_graph_op_attr_zps, &huge, 1));
    ok(dnnl_graph_add_op(graph, op));
    ok(dnnl_graph_op_destroy(op));
    for (const auto p : partitions())
        ok(dnnl_graph_partition_destroy(p));
}

TEST_F(drop_in_functions, both_refuse_with_our_status) {
    const auto op = create(7, dnnl_graph_op_quantize, {tensor_of(0, dnnl_f32, {4})}, tensor_of(1, dnnl_u8, {4}));
    EXPECT_EQ(dnnl_graph_add_op(graph, op), dnnl_invalid_graph_op); // no scales
    ok(dnnl_graph_op_destroy(op));
    EXPECT_TRUE(partitions().empty());
}

// A DynamicQuantize that computes its scales is dynquant's own; oneDNN refuses an op of one input.
TEST_F(drop_in_functions, own_attributes_are_left_to_onednn) {
    const auto refused_by_onednn = [&](dnnl_graph_op_t op) {
        EXPECT_EQ(dnnl_graph_add_op(graph, op), dnnl_invalid_graph_op);
        dnnl_graph_partition_t partition = nullptr;
        EXPECT_EQ(dnnl_graph_partition_create_with_op(&partition, op, dnnl_cpu), dnnl_invalid_graph_op);
        ok(dnnl_graph_partition_destroy(partition)); // oneDNN creates one first
        ok(dnnl_graph_op_destroy(op));
    };
    const auto computed = create(7, dnnl_graph_op_dynamic_quantize, {x}, tensor_of(3, dnnl_s8, {2, 3}));
    const lt scale = tensor_of(4, dnnl_f32, {1});
    ok(dnnl_graph_op_add_output(computed, &scale));
    ok(dnnl_graph_op_set_attr_str(computed, static_cast<dnnl_graph_op_attr_t>(0xe0), "absmax", 6)); // scale_rule
    refused_by_onednn(computed);
    auto e8m0 = scales;
    e8m0.data_type = static_cast<dnnl_data_type_t>(13);
    refused_by_onednn(create(8, dnnl_graph_op_dynamic_dequantize, {tensor_of(5, dnnl_s8, {2, 3}), e8m0},
            tensor_of(6, dnnl_f32, {2, 3})));
    EXPECT_TRUE(partitions().empty());
}

TEST_F(drop_in_functions, a_second_op_of_an_id_is_ignored) {
    const lt z = tensor_of(4, dnnl_f32, {2, 3});
    const auto relu = create(7, dnnl_graph_op_relu, {x}, z), quantize = create_quantize(7);
    ok(dnnl_graph_add_op(graph, relu));
    ok(dnnl_graph_add_op(graph, quantize));
    const auto found = partitions();
    ASSERT_EQ(found.size(), 1u);
    std::size_t inputs = 0;
    ok(dnnl_graph_partition_get_input_ports_num(found[0], &inputs));
    EXPECT_EQ(inputs, 1u); // the first one
    dnnl_graph_compiled_partition_t compiled = nullptr;
    ok(dnnl_graph_compiled_partition_create(&compiled, found[0]));
    ok(compile(found[0], compiled, {x}, z));
    ok(dnnl_graph_compiled_partition_destroy(compiled));
    ok(dnnl_graph_partition_destroy(found[0]));
    ok(dnnl_graph_op_destroy(relu));
    ok(dnnl_graph_op_destroy(quantize));
}

TEST_F(drop_in_functions, the_graph_has_a_copy_of_the_op) {
    const auto op = create_quantize(7);
    ok(dnnl_graph_add_op(graph, op));
    const std::int64_t other = 0;
    ok(dnnl_graph_op_set_attr_s64(op, dnnl_graph_op_attr_axis, &other, 1)); // three scales would be wrong for it
    ok(dnnl_graph_op_destroy(op));
    const auto found = partitions();
    dnnl_graph_compiled_partition_t compiled = nullptr;
    ok(dnnl_graph_compiled_partition_create(&compiled, found.at(0)));
    ok(compile(found[0], compiled));
    ok(dnnl_graph_compiled_partition_destroy(compiled));
    ok(dnnl_graph_partition_destroy(found[0]));
}

TEST_F(drop_in_functions, partition_of_one_op) {
    for (const std::int64_t axis : {1, -1}) {
        const auto op = create_quantize(7, axis);
        dnnl_graph_partition_t partition = nullptr;
        ok(dnnl_graph_partition_create_with_op(&partition, op, dnnl_cpu));
        std::uint8_t supported = 0;
        ok(dnnl_graph_partition_is_supported(partition, &supported));
        EXPECT_EQ(supported, 1);
        std::size_t ops = 0, id = 0;
        ok(dnnl_graph_partition_get_op_num(partition, &ops));
        EXPECT_EQ(ops, 1u);
        ok(dnnl_graph_partition_get_ops(partition, 1, &id));
        EXPECT_EQ(id, 7u);
        ok(dnnl_graph_partition_destroy(partition));
        ok(dnnl_graph_op_destroy(op));
    }
}

TEST_F(drop_in_functions, fpmath_mode) {
    ok(dnnl_graph_graph_set_fpmath_mode(graph, dnnl_fpmath_mode_strict, 0));
    dnnl_graph_graph_t other = nullptr;
    ok(dnnl_graph_graph_create_with_fpmath_mode(&other, dnnl_cpu, dnnl_fpmath_mode_any));
    ok(dnnl_graph_graph_set_fpmath_mode(other, dnnl_fpmath_mode_any, 0));
    ok(dnnl_graph_graph_destroy(other));
}

TEST_F(drop_in_functions, handles_may_go_in_any_order) {
    const auto op = create_quantize(7);
    ok(dnnl_graph_add_op(graph, op));
    const auto found = partitions();
    dnnl_graph_compiled_partition_t compiled = nullptr;
    ok(dnnl_graph_compiled_partition_create(&compiled, found.at(0)));
    ok(compile(found[0], compiled));
    ok(dnnl_graph_partition_destroy(found[0]));
    ok(dnnl_graph_graph_destroy(graph));
    graph = nullptr;
    ok(dnnl_graph_op_destroy(op));
    ok(dnnl_graph_compiled_partition_destroy(compiled));
}

TEST_F(drop_in_functions, more_partitions_than_there_are_may_be_requested) {
    const auto op = create_quantize(7);
    ok(dnnl_graph_add_op(graph, op));
    ok(dnnl_graph_op_destroy(op));
    for (auto *const partition : partitions())
        ok(dnnl_graph_partition_destroy(partition));
    dnnl_graph_partition_t found[3] = {};
    ok(dnnl_graph_graph_get_partitions(graph, 3, found));
    for (std::size_t i = 0; i < 3; ++i) {
        std::size_t ops = 0;
        if (i == 0) ok(dnnl_graph_partition_get_op_num(found[i], &ops));
        EXPECT_EQ(ops, i == 0 ? 1 : 0);
        ok(dnnl_graph_partition_destroy(found[i]));
    }
}

/// One whole sequence, from op to compiled partition.
void come_and_go(dnnl_engine_t engine) {
    dnnl_graph_graph_t graph = nullptr;
    ok(dnnl_graph_graph_create(&graph, dnnl_cpu));
    const auto op = create_quantize(7);
    ok(dnnl_graph_add_op(graph, op));
    ok(dnnl_graph_graph_finalize(graph));
    ok(dnnl_graph_graph_filter(graph, dnnl_graph_partition_policy_fusion));
    dnnl_graph_partition_t partition = nullptr;
    ok(dnnl_graph_graph_get_partitions(graph, 1, &partition));
    dnnl_graph_compiled_partition_t compiled = nullptr;
    ok(dnnl_graph_compiled_partition_create(&compiled, partition));
    const lt *in[] = {&x, &scales, &zps}, *out[] = {&y};
    ok(dnnl_graph_partition_compile(partition, compiled, 3, in, 1, out, engine));
    ok(dnnl_graph_op_destroy(op));
    ok(dnnl_graph_graph_destroy(graph));
    ok(dnnl_graph_partition_destroy(partition));
    ok(dnnl_graph_compiled_partition_destroy(compiled));
}

TEST_F(drop_in_functions, nothing_is_left_behind) {
    come_and_go(engine);
    const auto cycle = [] {
        dnnl_graph_op_t op = nullptr;
        dnnl_graph_op_create(&op, 7, dnnl_graph_op_quantize, "q");
        dnnl_graph_op_destroy(op);
    };
    cycle();
    const auto before = mallinfo2().uordblks;
    for (int i = 0; i < 1000000; ++i)
        cycle();
    for (int i = 0; i < 1000; ++i)
        come_and_go(engine);
    EXPECT_LT(mallinfo2().uordblks, before + 65536); // a byte of each would be a million
}

TEST_F(drop_in_functions, from_many_threads) {
    std::vector<std::thread> threads;
    for (int t = 0; t < 4; ++t)
        threads.emplace_back([this] {
            for (int i = 0; i < 200; ++i)
                come_and_go(engine);
        });
    for (auto &thread : threads)
        thread.join();
}

} // namespace

// Destroyed after main, in unspecified order.
static const struct late {
    late() { ok(dnnl_graph_graph_create(&graph, dnnl_cpu)); }
    ~late() {
        dnnl_graph_op_destroy(op);
        dnnl_graph_graph_destroy(graph);
    }
    dnnl_graph_op_t op = create_quantize(1);
    dnnl_graph_graph_t graph = nullptr;
} destroyed_late;

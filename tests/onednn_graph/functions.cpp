// oneDNN's C functions behave as documented when the drop-in interposes them.
#include <cstring>
#include <limits>
#include <malloc.h>
#include <thread>

#include "functions.hpp"
#include "newer_functions.hpp"

namespace {

using namespace dynquant::test;

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
    const_dnnl_graph_tensor_t in[] = {tensor(x, b.src), tensor(scales, b.scale), tensor(zps, b.zero_point)},
                              out[] = {tensor(y, b.dst)};
    ok(dnnl_graph_compiled_partition_execute(compiled, stream, 3, in, 1, out));
    EXPECT_EQ(b.results(), expected);
    std::memset(b.dst, 0, sizeof b.dst);
    ok(dnnl_graph_compiled_partition_execute_v2(compiled, stream, 3, in, 1, out, nullptr));
    EXPECT_EQ(b.results(), expected);

    EXPECT_EQ(dnnl_graph_compiled_partition_execute(compiled, stream, 2, in, 1, out), dnnl_invalid_arguments);
    EXPECT_EQ(dnnl_graph_compiled_partition_execute(compiled, stream, 3, nullptr, 1, out), dnnl_invalid_arguments);
    EXPECT_EQ(dnnl_graph_compiled_partition_execute(compiled, nullptr, 3, in, 1, out), dnnl_invalid_arguments);
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
}

TEST_F(drop_in_functions, layout_any_becomes_that_of_src) {
    const auto partition = kept(sole_partition(create_quantize(7)));
    const auto compiled = kept(created(partition));
    lt any = y;
    any.layout_type = dnnl_graph_layout_type_any;
    ok(compile(partition, compiled, {x, scales, zps}, any));
    lt t;
    ok(dnnl_graph_compiled_partition_query_logical_tensor(compiled, 3, &t));
    EXPECT_EQ(t.layout_type, dnnl_graph_layout_type_strided);
}

TEST_F(drop_in_functions, a_second_op_of_an_id_is_ignored) {
    const lt z = tensor_of(4, dnnl_f32, {2, 3});
    for (const auto op : {create(7, dnnl_graph_op_relu, {x}, z), create_quantize(7)})
        ok(dnnl_graph_add_op(graph, kept(op)));
    const auto found = partitions();
    ASSERT_EQ(found.size(), 1u);
    std::size_t inputs = 0;
    ok(dnnl_graph_partition_get_input_ports_num(kept(found[0]), &inputs));
    EXPECT_EQ(inputs, 1u); // the first one
    ok(compile(found[0], kept(created(found[0])), {x}, z));
}

TEST_F(drop_in_functions, the_graph_has_a_copy_of_the_op) {
    const auto op = create_quantize(7);
    ok(dnnl_graph_add_op(graph, op));
    const std::int64_t other = 0;
    ok(dnnl_graph_op_set_attr_s64(op, dnnl_graph_op_attr_axis, &other, 1)); // three scales would be wrong for it
    ok(dnnl_graph_op_destroy(op));
    const auto partition = kept(partitions().at(0));
    ok(compile(partition, kept(created(partition))));
}

TEST_F(drop_in_functions, partition_of_one_op) {
    for (const std::int64_t axis : {1, -1}) {
        const auto op = kept(create_quantize(7, axis));
        dnnl_graph_partition_t partition = nullptr;
        ok(dnnl_graph_partition_create_with_op(&partition, op, dnnl_cpu));
        std::uint8_t supported = 0;
        ok(dnnl_graph_partition_is_supported(kept(partition), &supported));
        EXPECT_EQ(supported, 1);
        std::size_t ops = 0, id = 0;
        ok(dnnl_graph_partition_get_op_num(partition, &ops));
        EXPECT_EQ(ops, 1u);
        ok(dnnl_graph_partition_get_ops(partition, 1, &id));
        EXPECT_EQ(id, 7u);
    }
}

/// DynamicDequantize by one scale.
dnnl_graph_op_t create_dequantize(std::size_t id, const lt &from, const lt &to) {
    const auto op = create(id, dnnl_graph_op_dynamic_dequantize, {from, tensor_of(4, dnnl_f32, {1})}, to);
    ok(dnnl_graph_op_set_attr_str(op, dnnl_graph_op_attr_qtype, "per_tensor", 10));
    return op;
}

TEST_F(drop_in_functions, lists_of_a_layer) {
    const lt x8 = tensor_of(10, dnnl_u8, {2, 3}), w8 = tensor_of(11, dnnl_s8, {3, 4}),
             xf = tensor_of(12, dnnl_f32, {2, 3}), wf = tensor_of(13, dnnl_f32, {3, 4}),
             product = tensor_of(14, dnnl_f32, {2, 4});
    for (const auto op : {create_dequantize(20, x8, xf), create_dequantize(21, w8, wf),
                 create(22, dnnl_graph_op_matmul, {xf, wf}, product)})
        ok(dnnl_graph_add_op(graph, kept(op)));
    const auto found = partitions();
    ASSERT_EQ(found.size(), 1u);
    EXPECT_EQ(dnnl_graph_graph_get_partition_num(graph, nullptr), dnnl_invalid_arguments);
    const auto layer = kept(found[0]);
    std::size_t count = 0;
    ok(dnnl_graph_partition_get_op_num(layer, &count));
    ASSERT_EQ(count, 3u);
    std::vector<std::size_t> ids(3);
    ok(dnnl_graph_partition_get_ops(layer, 3, ids.data()));
    EXPECT_EQ(ids, (std::vector<std::size_t> {20, 21, 22}));
    ok(dnnl_graph_partition_get_output_ports_num(layer, &count));
    ASSERT_EQ(count, 1u);
    lt port;
    ok(dnnl_graph_partition_get_output_ports(layer, 1, &port));
    EXPECT_EQ(port.id, 14u);

    EXPECT_EQ(dnnl_graph_partition_get_ops(layer, 2, ids.data()), dnnl_invalid_arguments);
    EXPECT_EQ(dnnl_graph_partition_get_ops(layer, 3, nullptr), dnnl_invalid_arguments);
    EXPECT_EQ(dnnl_graph_partition_get_input_ports(layer, 1, &port), dnnl_invalid_arguments);
    EXPECT_EQ(dnnl_graph_partition_get_output_ports(layer, 1, nullptr), dnnl_invalid_arguments);
    EXPECT_EQ(dnnl_graph_partition_get_op_num(layer, nullptr), dnnl_invalid_arguments);
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
    const auto compiled = created(found.at(0));
    ok(compile(found[0], compiled));
    ok(dnnl_graph_partition_destroy(found[0]));
    ok(dnnl_graph_graph_destroy(graph));
    graph = nullptr;
    ok(dnnl_graph_op_destroy(op));
    ok(dnnl_graph_compiled_partition_destroy(compiled));
}

TEST_F(drop_in_functions, more_partitions_than_there_are_may_be_requested) {
    ok(dnnl_graph_add_op(graph, kept(create_quantize(7))));
    kept(partitions().at(0));
    dnnl_graph_partition_t found[3] = {};
    ok(dnnl_graph_graph_get_partitions(graph, 3, found));
    for (std::size_t i = 0; i < 3; ++i) {
        std::size_t ops = 0;
        if (i == 0) ok(dnnl_graph_partition_get_op_num(found[i], &ops));
        EXPECT_EQ(ops, i == 0 ? 1 : 0);
        kept(found[i]);
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
    const auto compiled = created(partition);
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
    for (int i = 0; i < (SANITIZED ? 1000 : 1000000); ++i) // the address sanitizer finds what is left by itself
        cycle();
    for (int i = 0; i < (SANITIZED ? 50 : 1000); ++i)
        come_and_go(engine);
    EXPECT_LT(mallinfo2().uordblks, before + 65536); // a byte of each would be a million
}

TEST_F(drop_in_functions, from_many_threads) {
    std::vector<std::thread> threads;
    for (int t = 0; t < 4; ++t)
        threads.emplace_back([this] {
            for (int i = 0; i < (SANITIZED ? 40 : 200); ++i)
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

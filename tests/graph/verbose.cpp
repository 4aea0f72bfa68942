// Verbose lines of graphs say who gets each op. DYNQUANT_VERBOSE is read once, so that this is a program of its own.
#include "support/graph.hpp"
#include "support/onednn_isa.hpp"
#include "support/program.hpp"

namespace dynquant::test {
namespace {

const std::string line = "dynquant_verbose,graph,";
const lt x = f32(0, {2, 3}), scales = f32(1, {3}), y = u8(2, {2, 3});

dg::op dynamic_quantize(std::size_t id, const lt &scales_port) {
    return dg::op(id, kind::DynamicQuantize, {x, scales_port}, {y}, "q")
            .set_attr<std::string>(attr::qtype, "per_channel");
}

TEST(graph_verbose, claimed_ops) {
    dg::graph graph(dg::engine::kind::cpu);
    const auto text = printed_by([&] {
        graph.add_op(dynamic_quantize(7, scales));
        graph.finalize();
        graph.get_partitions();
    });
    EXPECT_EQ(text, line + "claim,cpu,op 7 'q' (DynamicQuantize)\n");
    EXPECT_EQ(printed_by([] { dg::partition(dynamic_quantize(8, scales), dg::engine::kind::cpu); }),
            line + "claim,cpu,op 8 'q' (DynamicQuantize)\n");
}

TEST(graph_verbose, refused_ops) {
    const auto expected =
            line + "error,cpu,op 7 'q' (DynamicQuantize): scales: expected 3 elements (dims[1] of src), given 2\n";
    dg::graph graph(dg::engine::kind::cpu);
    const auto op = dynamic_quantize(7, f32(1, {2}));
    EXPECT_EQ(printed_by([&] { EXPECT_EQ(graph.add_op(op, false), dg::status::invalid_shape); }), expected);
    EXPECT_EQ(printed_by([&] { EXPECT_THROW(graph.add_op(op), dnnl::error); }), expected);

    const auto at_compile = [&](const lt &given) {
        graph.add_op(dynamic_quantize(7, f32(1, {DNNL_GRAPH_UNKNOWN_DIM})));
        graph.finalize();
        const auto partition = graph.get_partitions().at(0);
        EXPECT_THROW(partition.compile({x, given}, {y}, cpu()), dnnl::error);
    };
    EXPECT_EQ(printed_by([&] { at_compile(f32(1, {2})); }), line + "claim,cpu,op 7 'q' (DynamicQuantize)\n" + expected);
}

TEST(graph_verbose, ops_that_onednn_fuses) {
    const lt a = u8(0, {2, 2}), b = s8(1, {2, 2}), a_real = f32(10, {2, 2}), b_real = f32(11, {2, 2}),
             product = f32(12, {2, 2});
    dg::graph graph(dg::engine::kind::cpu);
    for (const auto &[id, from, to] : {std::tuple {1, a, a_real}, {2, b, b_real}})
        graph.add_op(dg::op(static_cast<std::size_t>(id), kind::Dequantize, {from}, {to}, "dw")
                             .set_attr(attr::scales, std::vector<float> {0.5F})
                             .set_attr(attr::zps, std::vector<std::int64_t> {0}));
    graph.add_op(dg::op(3, kind::MatMul, {a_real, b_real}, {product}, "matmul"));
    graph.finalize();
    const std::string fused =
            " 'dw' (Dequantize): oneDNN fuses it with other ops; partition::policy::debug fuses none\n";
    const std::string in_layer = " 'dw' (Dequantize): in the layer of op 3 'matmul' (MatMul)\n";
    const auto taken = line + "claim,cpu,op 1" + in_layer + line + "claim,cpu,op 2" + in_layer + line
            + "claim,cpu,op 3 'matmul' (MatMul) with op 1 'dw' (Dequantize), op 2 'dw' (Dequantize)\n";
    EXPECT_EQ(printed_by([&] { EXPECT_EQ(graph.get_partitions().size(), 1u); }),
            onednn_has_vnni() ? line + "leave,cpu,op 1" + fused + line + "leave,cpu,op 2" + fused : taken);
    EXPECT_EQ(printed_by([&] { EXPECT_EQ(graph.get_partitions(dg::partition::policy::debug).size(), 3u); }),
            line + "claim,cpu,op 1 'dw' (Dequantize)\n" + line + "claim,cpu,op 2 'dw' (Dequantize)\n");
}

} // namespace
} // namespace dynquant::test

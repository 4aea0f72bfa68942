// Wrong graphs are refused: ids used twice, cycles, calls in the wrong order, unsuitable engines and kernels. Wrong
// calls of execute are refused before anything is written.
#include "graph.hpp"

namespace dynquant::test {
namespace {

/// Named by the letter and the id.
dg::op op_by_scale(std::size_t id, kind which, const char *letter, const lt &src, const lt &dst) {
    dg::op op(id, which, {src}, {dst}, letter + std::to_string(id));
    op.set_attr(attr::scales, std::vector<float> {1});
    return op;
}
dg::op quantize(std::size_t id, const lt &src, const lt &dst) {
    return op_by_scale(id, kind::Quantize, "q", src, dst);
}
dg::op dequantize(std::size_t id, const lt &src, const lt &dst) {
    return op_by_scale(id, kind::Dequantize, "d", src, dst);
}

const lt x = f32(0, {2, 3}), relu_out = f32(1, {2, 3});

/// An op that only oneDNN has.
dg::op relu() {
    return {1, kind::ReLU, {x}, {relu_out}, "relu"};
}

/// Whether a graph with `first` refuses `second` and still holds only `first`.
testing::AssertionResult second_is_refused(const dg::op &first, const dg::op &second, dnnl_status_t status,
        const names &message, const std::string &where) {
    dg::graph graph(dg::engine::kind::cpu);
    graph.add_op(first);
    if (auto refused = fails([&] { graph.add_op(second); }, status, message, where); !refused) return refused;
    graph.finalize();
    if (graph.get_partitions().size() != 1) return testing::AssertionFailure() << "the refused op is in the graph";
    return testing::AssertionSuccess();
}

TEST(graph_calls_refusals, op_id_is_refused_when_another_op_has_it) {
    EXPECT_TRUE(second_is_refused(quantize(1, f32(0, {4}), s8(1, {4})), dequantize(1, s8(1, {4}), f32(2, {4})),
            dnnl_invalid_graph, {"id", "one that no other op of the graph has", "that of op 1 'q1' (Quantize)"},
            "op 1 'd1' (Dequantize): "));
}

TEST(graph_calls_refusals, logical_tensor_id_is_refused_when_two_ops_contradict) {
    const lt transposed(1, type::s8, dims {2, 4}, dims {1, 2});
    const std::string first = ", as logical tensor 1 has in dst of op 1 'q1' (Quantize)";
    struct wrong {
        dims shape; // of the first op
        lt src;     // of the second
        dims dst;
        dnnl_status_t status;
        std::string expected, given;
    };
    for (const auto &[shape, src, dst, status, expected, given] :
            {wrong {{4}, u8(1, {4}), {4}, dnnl_invalid_data_type, "data type s8", "u8"},
                    {{4}, s8(1, {4, 1}), {4, 1}, dnnl_invalid_shape, "rank 1", "2"},
                    {{4}, s8(1, {5}), {5}, dnnl_invalid_shape, "dims 4", "5"},
                    {{2, 4}, transposed, {2, 4}, dnnl_invalid_shape, "strides 4x1", "1x2"}})
        EXPECT_TRUE(second_is_refused(quantize(1, f32(0, shape), s8(1, shape)), dequantize(2, src, f32(2, dst)), status,
                {"src", expected + first, given}, "op 2 'd2' (Dequantize): "));
    dg::graph graph(dg::engine::kind::cpu); // across an unknown
    graph.add_op(quantize(1, lt(0, type::f32), s8(1, {4})));
    graph.add_op(quantize(2, f32(0, {4}), s8(2, {4})));
    EXPECT_TRUE(fails([&] { graph.add_op(quantize(3, f32(0, {5}), s8(3, {5}))); }, dnnl_invalid_shape,
            names {"src", "dims 4, as logical tensor 0 has in src of op 2 'q2' (Quantize)", "5"},
            "op 3 'q3' (Quantize): "));
}

TEST(graph_calls_refusals, logical_tensor_id_may_be_known_in_one_op_only) {
    dg::graph graph(dg::engine::kind::cpu);
    graph.add_op(quantize(1, f32(0, {2, 4}), lt(1, type::s8, layout::any)));
    EXPECT_NO_THROW(graph.add_op(dequantize(2, s8(1, {2, 4}), f32(2, {2, 4}))));
}

TEST(graph_calls_refusals, logical_tensor_id_is_refused_when_two_ops_write_it) {
    EXPECT_TRUE(second_is_refused(quantize(1, f32(0, {4}), s8(1, {4})), quantize(2, f32(2, {4}), s8(1, {4})),
            dnnl_invalid_graph, {"dst", "that no other op writes", "1, which is dst of op 1 'q1' (Quantize)"},
            "op 2 'q2' (Quantize): "));
}

TEST(graph_calls_refusals, logical_tensor_id_is_refused_within_one_op) {
    const auto itself = dense(0, type::undef, {4});
    EXPECT_TRUE(add_refuses(quantize(1, itself, itself), dnnl_invalid_graph,
            names {"dst", "a logical tensor of its own", "0, which is src too"}, "op 1 'q1' (Quantize): "));
    expect_refused({{dynamic_op {.zps = s8(1, {4})}, dnnl_invalid_data_type,
            {"zps", "data type f32, as logical tensor 1 has in scales of op 3 'q' (DynamicQuantize)", "s8"}}});
}

TEST(graph_calls_refusals, cycle_of_two_ops_is_refused) {
    dg::graph graph(dg::engine::kind::cpu);
    graph.add_op(quantize(1, f32(0, {4}), s8(1, {4})));
    graph.add_op(dequantize(2, s8(1, {4}), f32(0, {4})));
    EXPECT_TRUE(fails([&] { graph.finalize(); }, dnnl_invalid_graph,
            "op 1 'q1' (Quantize): dst: expected a graph without cycles, given one in which logical tensor 1 depends "
            "on itself"));
    EXPECT_FALSE(graph.is_finalized());
}

TEST(graph_calls_refusals, cycle_of_other_ops_is_refused) {
    dg::graph graph(dg::engine::kind::cpu);
    graph.add_op({1, dg::op::kind::ReLU, {f32(0, {4})}, {f32(1, {4})}, "r1"});
    graph.add_op({2, dg::op::kind::ReLU, {f32(1, {4})}, {f32(0, {4})}, "r2"});
    EXPECT_TRUE(fails([&] { graph.finalize(); }, dnnl_invalid_graph,
            "op 1 'r1' (ReLU): output 0: expected a graph without cycles, given one in which logical tensor 1 depends "
            "on itself"));
}

TEST(graph_calls_refusals, cycle_is_named_rather_than_its_consumers) {
    dg::graph graph(dg::engine::kind::cpu);
    graph.add_op(dequantize(7, s8(1, {4}), f32(9, {4}))); // reads from the cycle
    graph.add_op(quantize(6, f32(8, {4}), s8(7, {4})));   // not connected to the cycle
    graph.add_op(quantize(1, f32(0, {4}), s8(1, {4})));
    graph.add_op(dequantize(2, s8(1, {4}), f32(2, {4})));
    graph.add_op(quantize(3, f32(2, {4}), s8(3, {4})));
    graph.add_op(dequantize(4, s8(3, {4}), f32(0, {4})));
    try {
        graph.finalize();
        FAIL() << "a cycle is accepted";
    } catch (const dnnl::error &e) {
        EXPECT_EQ(e.status, dnnl_invalid_graph);
        const std::string message = e.what();
        EXPECT_NE(message.find("depends on itself"), std::string::npos);
        EXPECT_EQ(message.find("op 7"), std::string::npos) << message;
        EXPECT_EQ(message.find("op 6"), std::string::npos) << message;
    }
}

TEST(graph_calls_refusals, are_errors_of_onednn_alone) {
    const std::string message = "graph: expected a finalized graph for get_partitions, given one that is not finalized";
    const auto refuse = [] { dg::graph(dg::engine::kind::cpu).get_partitions(); };
    EXPECT_THROW(refuse(), dnnl::error);
    try {
        refuse();
        FAIL() << "no error";
    } catch (const dynquant::error &) {
        FAIL() << "expected no error of the direct API";
    } catch (const std::exception &e) {
        EXPECT_EQ(message, e.what());
    }
}

TEST(graph_calls_refusals, call_order_has_partitions_after_finalize) {
    dg::graph graph(dg::engine::kind::cpu);
    graph.add_op(dynamic_op {}.make());
    EXPECT_TRUE(fails([&] { graph.get_partitions(); }, dnnl_invalid_graph,
            "graph: expected a finalized graph for get_partitions, given one that is not finalized"));
}

TEST(graph_calls_refusals, call_order_has_no_add_op_after_finalize) {
    dg::graph graph(dg::engine::kind::cpu);
    graph.finalize();
    const auto op = dynamic_op {}.make();
    EXPECT_TRUE(fails([&] { graph.add_op(op); }, dnnl_invalid_graph,
            q + "expected a graph that is not finalized, given a finalized one"));
    EXPECT_EQ(graph.add_op(op, false), dg::status::invalid_graph);
}

TEST(graph_calls_refusals, fpmath_mode_is_refused_when_unknown) {
    const auto none = static_cast<dg::fpmath_mode>(7);
    const std::string message = "graph: expected fpmath mode strict, bf16, f16, any or tf32, given number 7";
    EXPECT_TRUE(fails([&] { dg::graph {dg::engine::kind::cpu, none}; }, dnnl_invalid_arguments, message));
    dg::graph graph(dg::engine::kind::cpu, dg::fpmath_mode::bf16);
    EXPECT_TRUE(fails([&] { graph.set_fpmath_mode(none); }, dnnl_invalid_arguments, message));
    dg::fpmath_mode mode;
    bool apply_to_int;
    graph.get_fpmath_mode(mode, apply_to_int);
    EXPECT_EQ(mode, dg::fpmath_mode::bf16);
}

TEST(graph_calls_refusals, partition_policy_is_refused_when_unknown) {
    dg::graph graph(dg::engine::kind::cpu);
    graph.add_op(dynamic_op {}.make());
    graph.finalize();
    for (const int number : {0, 3})
        EXPECT_TRUE(
                fails([&] { graph.get_partitions(static_cast<dg::partition::policy>(number)); }, dnnl_invalid_arguments,
                        "graph: expected partition policy fusion or debug, given number " + std::to_string(number)));
    EXPECT_EQ(graph.get_partitions().size(), 1u);
}

TEST(graph_calls_refusals, engine_of_a_graph_or_a_single_op_partition_must_be_cpu) {
    const std::string expected = "graph: expected engine kind cpu, given ";
    const auto gpu = dg::engine::kind::gpu, any = dg::engine::kind::any;
    EXPECT_TRUE(fails([&] { dg::graph {gpu}; }, dnnl_invalid_arguments, expected + "gpu"));
    EXPECT_TRUE(fails([&] { dg::graph(any, dg::fpmath_mode::any); }, dnnl_invalid_arguments, expected + "any"));
    EXPECT_TRUE(fails([&] { dg::partition(dynamic_op {}.make(), gpu); }, dnnl_invalid_arguments, q + expected + "gpu"));
}

TEST(graph_calls_refusals, engine_of_compile_must_be_cpu) {
    const dynamic_op op;
    const auto partition = partition_of(op.make());
    const auto inputs = op.inputs();
    // A machine without a GPU cannot create an engine of another kind. The core takes only the kind.
    EXPECT_TRUE(fails(
            [&] {
                dg::core::compile(*partition.get(), inputs.size(), dg::core::c_structs(inputs.data()), 1,
                        dg::core::c_structs(&op.dst), nullptr, dnnl_gpu);
            },
            dnnl_invalid_arguments, q + "expected engine kind cpu, given gpu"));
}

TEST(graph_calls_refusals, partitions_of_onednn_are_named_by_their_ops) {
    const lt a = f32(0, {2, 2}), b = f32(1, {2, 2}), product = f32(2, {2, 2}), y = f32(3, {2, 2});
    const auto expect_named = [&](dg::partition::policy policy) {
        dg::graph graph(dg::engine::kind::cpu);
        graph.add_op(dg::op(5, kind::MatMul, {a, b}, {product}, "m"));
        graph.add_op(dg::op(6, kind::ReLU, {product}, {y}, "r"));
        graph.finalize();
        const auto partition = graph.get_partitions(policy).at(0);
        std::string message;
        try {
            dg::core::compile(*partition.get(), 0, nullptr, 0, nullptr, nullptr, dnnl_gpu);
        } catch (const dnnl::error &e) {
            message = e.what();
        }
        const std::string ops = partition.get_ops().size() == 1 ? " (op 5)" : " (ops 5, 6)"; // where oneDNN fuses them
        EXPECT_NE(message.find(ops + ": expected engine kind cpu, given gpu"), std::string::npos) << message;
    };
    expect_named(dg::partition::policy::fusion);
    expect_named(dg::partition::policy::debug);
}

TEST(graph_calls_refusals, engine_is_refused_when_empty_at_compile) {
    const dynamic_op op;
    EXPECT_TRUE(fails([&] { partition_of(op.make()).compile(op.inputs(), {op.dst}, dg::engine()); },
            dnnl_invalid_arguments, "object is not initialized"));
}

TEST(graph_calls_refusals, forced_kernel_is_refused_when_it_cannot_compute_the_op) {
    const scoped_variable forced("DYNQUANT_KERNEL", "onednn");
    const dynamic_op op; // strict: a reorder would multiply by reciprocals
    const auto partition = partition_of(op.make());
    try {
        partition.compile(op.inputs(), {op.dst}, cpu());
        FAIL() << "another kernel was chosen silently";
    } catch (const dnnl::error &e) {
        EXPECT_EQ(e.status, dnnl_unimplemented);
        const std::string begin = q + "kernel: 'onednn' was asked for but cannot compute this: ";
        EXPECT_EQ(std::string(e.what()).substr(0, begin.size()), begin);
        EXPECT_GT(std::string(e.what()).size(), begin.size()) << "the reason is missing";
    }
}

TEST(graph_calls_refusals, forced_kernel_or_isa_is_refused_when_unknown) {
    struct {
        const char *variable, *value, *expected, *given;
    } const cases[] = {
            {"DYNQUANT_KERNEL", "natve", "native, onednn or reference", "'natve' (did you mean 'native'?)"},
            {"DYNQUANT_MAX_ISA", "avx51", "scalar, avx2, avx512 or neon", "'avx51' (did you mean 'avx512'?)"},
    };
    for (const auto &[variable, value, expected, given] : cases) {
        const scoped_variable forced(variable, value);
        expect_refused_by_compile({{dynamic_op {}, dnnl_invalid_arguments, {variable, expected, given}}});
    }
}

TEST(graph_calls_refusals, mixed_graph_names_an_op_that_onednn_refuses) {
    const dg::op bad(7, kind::Convolution, {x}, {relu_out}, "conv");
    EXPECT_TRUE(add_refuses(
            bad, dnnl_invalid_graph_op, "op 7 'conv' (Convolution): oneDNN could not add it (invalid_graph_op)"));
}

TEST(graph_calls_refusals, mixed_graph_checks_its_quantization_ops) {
    dg::graph graph(dg::engine::kind::cpu);
    graph.add_op(relu());
    const lt two = f32(2, {2});
    dg::op op(2, kind::DynamicQuantize, {relu_out, two, s32(3, {3})}, {u8(4, {2, 3})}, "q");
    op.set_attr<std::string>(attr::qtype, "per_channel");
    EXPECT_TRUE(fails([&] { graph.add_op(op); }, dnnl_invalid_shape,
            "op 2 'q' (DynamicQuantize): scales: expected 3 elements (dims[1] of src), given 2"));
    const dg::op same_id(1, kind::Abs, {x}, {u8(4, {2, 3})}, "abs");
    EXPECT_TRUE(fails([&] { graph.add_op(same_id); }, dnnl_invalid_graph,
            "op 1 'abs' (kind " + std::to_string(static_cast<int>(kind::Abs))
                    + "): id: expected one that no other op of the graph has, given that of op 1 'relu' (ReLU)"));
}

TEST(graph_calls_refusals, mixed_graph_refuses_a_tensor_of_two_types_between_the_libraries) {
    dg::graph graph(dg::engine::kind::cpu);
    graph.add_op(relu());
    const auto of_u8 = dequantize(2, u8(1, {2, 3}), f32(4, {2, 3}));
    EXPECT_TRUE(fails([&] { graph.add_op(of_u8); }, dnnl_invalid_data_type,
            "op 2 'd2' (Dequantize): src: expected data type f32, as logical tensor 1 has in output 0 of op 1 'relu' "
            "(ReLU), given u8"));
}

TEST(graph_calls_refusals, mixed_graph_refuses_a_cycle_through_both_libraries) {
    dg::graph graph(dg::engine::kind::cpu);
    const lt ring = u8(7, {2});
    const lt real = f32(8, {2}), positive = f32(9, {2});
    graph.add_op(dequantize(1, ring, real));
    graph.add_op(dg::op(2, kind::ReLU, {real}, {positive}, "relu"));
    graph.add_op(quantize(3, positive, ring));
    EXPECT_THROW(graph.finalize(), dnnl::error);
    EXPECT_FALSE(graph.is_finalized());
}

class graph_execute_refusals : public testing::Test {
  protected:
    testing::AssertionResult refuses(
            const std::vector<dg::tensor> &inputs, const std::vector<dg::tensor> &outputs, const std::string &message) {
        auto refused = fails([&] { compiled_.execute(stream_, inputs, outputs); }, dnnl_invalid_arguments, q + message);
        if (dst_ != std::vector<std::uint8_t>(8, 77)) return testing::AssertionFailure() << "dst was written";
        return refused;
    }

    dg::tensor null(const lt &description) const { return {description, cpu(), nullptr}; }

    dynamic_op op_;
    dg::compiled_partition compiled_ = partition_of(op_.make()).compile(op_.inputs(), {op_.dst}, cpu());
    dg::stream stream_ {cpu()};
    std::vector<float> src_ {1, 2, 3, 4, 5, 6, 7, 8}, scales_ {1, 1, 1, 1};
    std::vector<std::int8_t> zps_ {0, 0, 0, 0};
    std::vector<std::uint8_t> dst_ = std::vector<std::uint8_t>(8, 77);
    dg::tensor src = tensor_of(op_.src, src_), scales = tensor_of(op_.scales, scales_), zps = tensor_of(*op_.zps, zps_),
               dst = tensor_of(op_.dst, dst_);
};

TEST_F(graph_execute_refusals, a_wrong_number_of_tensors) {
    const std::string of_inputs = "inputs: expected 3 tensors, as compile was given, given ",
                      of_outputs = "outputs: expected 1 tensor, as compile was given, given ";
    EXPECT_TRUE(refuses({src, scales}, {dst}, of_inputs + "2"));
    EXPECT_TRUE(refuses({}, {dst}, of_inputs + "0"));
    EXPECT_TRUE(refuses({src, scales, zps, zps}, {dst}, of_inputs + "4"));
    EXPECT_TRUE(refuses({src, scales, zps}, {}, of_outputs + "0"));
    EXPECT_TRUE(refuses({src, scales, zps}, {dst, dst}, of_outputs + "2"));
}

TEST_F(graph_execute_refusals, null_handles_and_empty_tensors) {
    const std::string message = ": expected a buffer, given a null pointer";
    for (const auto &no_src : {null(op_.src), dg::tensor()})
        EXPECT_TRUE(refuses({no_src, scales, zps}, {dst}, "src" + message));
    EXPECT_TRUE(refuses({src, null(op_.scales), zps}, {dst}, "scales" + message));
    EXPECT_TRUE(refuses({src, scales, null(*op_.zps)}, {dst}, "zps" + message));
    for (const auto &no_dst : {null(op_.dst), dg::tensor()})
        EXPECT_TRUE(refuses({src, scales, zps}, {no_dst}, "dst" + message));
}

TEST_F(graph_execute_refusals, an_empty_stream) {
    dg::stream none;
    EXPECT_TRUE(fails(
            [&] {
                compiled_.execute(none, {src, scales, zps}, {dst});
            },
            dnnl_invalid_arguments, "object is not initialized"));
}

TEST_F(graph_execute_refusals, and_computes_the_next_right_call) {
    EXPECT_TRUE(refuses({src, scales}, {dst}, "inputs: expected 3 tensors, as compile was given, given 2"));
    compiled_.execute(stream_, {src, scales, zps}, {dst});
    EXPECT_EQ(dst_, (std::vector<std::uint8_t> {1, 2, 3, 4, 5, 6, 7, 8}));
}

TEST(graph_calls_refusals, execute_zero_volume_takes_null_handles_but_checks_their_number) {
    const dynamic_op op {.src = f32(0, {0, 4}), .dst = u8(3, {0, 4})};
    const auto compiled = partition_of(op.make()).compile(op.inputs(), {op.dst}, cpu());
    dg::stream stream(cpu());
    const auto null = [](const lt &t) { return dg::tensor(t, cpu(), nullptr); };
    EXPECT_NO_THROW(compiled.execute(stream, {null(op.src), null(op.scales), null(*op.zps)}, {null(op.dst)}));
    EXPECT_NO_THROW(compiled.execute(stream, std::vector<dg::tensor>(3), std::vector<dg::tensor>(1)));
    EXPECT_TRUE(fails([&] { compiled.execute(stream, {}, std::vector<dg::tensor>(1)); }, dnnl_invalid_arguments,
            q + "inputs: expected 3 tensors, as compile was given, given 0"));
}

} // namespace
} // namespace dynquant::test

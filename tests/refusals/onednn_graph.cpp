// The drop-in's C functions refuse with oneDNN's statuses, and leave to oneDNN what is oneDNN's to judge.
#include <dlfcn.h>

#include "has.hpp"
#include "onednn_graph/functions.hpp"
#include "onednn_graph/newer_functions.hpp"
#include "support/program.hpp"

namespace {

using namespace dynquant::test;

class onednn_graph_refusals : public drop_in_functions {
  protected:
    /// f() is refused with that status, and DYNQUANT_VERBOSE=1, which ctest sets, prints a line that begins with the
    /// first of these parts and has the others.
    template <typename F>
    void refused(dnnl_status_t status, const std::vector<std::string> &parts, F &&f) {
        const auto printed = printed_by([&] { EXPECT_EQ(f(), status); });
        EXPECT_EQ(printed.find("dynquant_verbose,graph,error,cpu," + parts.front()), 0u) << printed;
        EXPECT_EQ(printed.find('\n'), printed.size() - 1) << printed;
        EXPECT_TRUE(has(printed, parts)) << testing::PrintToString(parts) << "\nis not in\n" << printed;
    }

    const std::string where = "op 7 'op' (DynamicQuantize): ";
};

TEST_F(onednn_graph_refusals, null_handles_go_to_onednn) {
    EXPECT_EQ(dnnl_graph_op_create(nullptr, 0, dnnl_graph_op_quantize, "q"), dnnl_invalid_arguments);
    EXPECT_EQ(dnnl_graph_op_add_input(nullptr, &x), dnnl_invalid_arguments);
    EXPECT_EQ(dnnl_graph_add_op(graph, nullptr), dnnl_invalid_arguments);
    EXPECT_EQ(dnnl_graph_add_op(nullptr, nullptr), dnnl_invalid_arguments);
    EXPECT_EQ(dnnl_graph_partition_is_supported(nullptr, nullptr), dnnl_invalid_arguments);
    EXPECT_EQ(dnnl_graph_compiled_partition_create(nullptr, nullptr), dnnl_invalid_arguments);
    EXPECT_EQ(dnnl_graph_compiled_partition_execute(nullptr, stream, 0, nullptr, 0, nullptr), dnnl_invalid_arguments);
    EXPECT_EQ(dnnl_graph_graph_get_partition_num(nullptr, nullptr), dnnl_invalid_arguments);
    ok(dnnl_graph_compiled_partition_destroy(nullptr));
    ok(dnnl_graph_op_destroy(nullptr));

    dnnl_graph_partition_t partition = nullptr;
    EXPECT_EQ(dnnl_graph_partition_create_with_op(&partition, nullptr, dnnl_cpu), dnnl_invalid_arguments);
    const auto op = kept(create_quantize(7));
    EXPECT_EQ(dnnl_graph_partition_create_with_op(nullptr, op, dnnl_cpu), dnnl_invalid_arguments);
}

TEST_F(onednn_graph_refusals, null_for_what_a_compiled_partition_tells) {
    const auto compiled = compiled_quantize();
    std::size_t count = 0;
    const dnnl_graph_inplace_pair_t *pairs = nullptr;
    lt t;
    for (const auto status : {dnnl_graph_compiled_partition_get_inplace_ports(nullptr, &count, &pairs),
                 dnnl_graph_compiled_partition_get_inplace_ports(compiled, nullptr, &pairs),
                 dnnl_graph_compiled_partition_get_inplace_ports(compiled, &count, nullptr),
                 dnnl_graph_compiled_partition_get_scratchpad_logical_tensor(nullptr, &t),
                 dnnl_graph_compiled_partition_get_scratchpad_logical_tensor(compiled, nullptr)})
        EXPECT_EQ(status, dnnl_invalid_arguments);
}

TEST_F(onednn_graph_refusals, partitions_of_another_kind_of_engine_are_onednns) {
    const auto op = kept(create_quantize(7));
    dnnl_graph_partition_t partition = nullptr;
    EXPECT_EQ(printed_by([&] { dnnl_graph_partition_create_with_op(&partition, op, dnnl_gpu); }), "");
    ok(dnnl_graph_partition_destroy(partition));
}

TEST_F(onednn_graph_refusals, null_lists_at_compile_and_no_compilation) {
    const auto partition = kept(sole_partition(create_quantize(7)));
    const auto compiled = kept(created(partition));
    const lt *in[] = {&x, nullptr, &zps}, *complete[] = {&x, &scales, &zps}, *out[] = {&y};
    const auto refused_at_compile = [&](dnnl_graph_partition_t p, const lt **inputs, dnnl_engine_t on,
                                            const std::string &what) {
        refused(dnnl_invalid_arguments,
                {what + "compile: expected ", "a partition, an engine and logical tensors", ", given null"},
                [&] { return dnnl_graph_partition_compile(p, compiled, 3, inputs, 1, out, on); });
    };
    refused_at_compile(partition, in, engine, where);
    refused_at_compile(partition, nullptr, engine, where);
    refused_at_compile(partition, complete, nullptr, where);
    refused_at_compile(nullptr, complete, engine, "a partition that is not claimed: ");
    // Nothing has been compiled.
    const_dnnl_graph_tensor_t none[3] = {};
    refused(dnnl_invalid_arguments,
            {"a partition of one op, which is not compiled: oneDNN could not execute it (invalid_arguments)\n"},
            [&] { return dnnl_graph_compiled_partition_execute(compiled, stream, 3, none, 1, none); });
}

TEST_F(onednn_graph_refusals, null_handles_at_execute) {
    const auto compiled = compiled_quantize();
    const_dnnl_graph_tensor_t none[3] = {};
    using tensors = const_dnnl_graph_tensor_t *;
    const auto refused_at_execute = [&](const std::string &name, dnnl_stream_t on, tensors inputs, tensors outputs) {
        refused(dnnl_invalid_arguments, {where + name + ": expected ", "a handle", ", given null"},
                [&] { return dnnl_graph_compiled_partition_execute(compiled, on, 3, inputs, 1, outputs); });
    };
    refused_at_execute("stream", nullptr, none, none);
    refused_at_execute("inputs", stream, nullptr, none);
    refused_at_execute("outputs", stream, none, nullptr);
}

TEST_F(onednn_graph_refusals, wrong_counts_are_refused_where_onednn_would_read_beyond) {
    const lt two = tensor_of(1, dnnl_f32, {2});
    const std::vector<std::string> message {where + "scales: expected ", "3 elements (dims[1] of src)", ", given 2"};
    const auto op = kept(create_quantize(7, 1, two));
    refused(dnnl_invalid_shape, message, [&] { return dnnl_graph_add_op(graph, op); });
    dnnl_graph_partition_t partition = nullptr;
    refused(dnnl_invalid_shape, message, [&] { return dnnl_graph_partition_create_with_op(&partition, op, dnnl_cpu); });

    lt unknown = scales;
    unknown.dims[0] = DNNL_GRAPH_UNKNOWN_DIM;
    partition = kept(sole_partition(create_quantize(7, 1, unknown)));
    const auto compiled = kept(created(partition));
    const std::vector<lt> inputs {x, two, zps};
    refused(dnnl_invalid_shape, message, [&] { return compile(partition, compiled, inputs); });
    ok(compile(partition, compiled)); // succeeds after the refusal
}

TEST_F(onednn_graph_refusals, what_onednn_takes_and_we_refuse_is_onednns) {
    const auto op =
            kept(create(7, dnnl_graph_op_dequantize, {tensor_of(0, dnnl_u8, {4})}, tensor_of(1, dnnl_f32, {4})));
    const float scale = 2;
    const std::int64_t huge = std::int64_t {1} << 40; // s64 zps beyond s32 are refused by dynquant
    ok(dnnl_graph_op_set_attr_f32(op, dnnl_graph_op_attr_scales, &scale, 1));
    ok(dnnl_graph_op_set_attr_s64(op, dnnl_graph_op_attr_zps, &huge, 1));
    ok(dnnl_graph_add_op(graph, op));
    for (const auto p : partitions())
        kept(p);
    dnnl_graph_partition_t alone = nullptr;
    const auto printed = printed_by([&] { ok(dnnl_graph_partition_create_with_op(&alone, op, dnnl_cpu)); });
    kept(alone);
    EXPECT_TRUE(has(printed, {"leave", "op 7 'op' (Dequantize): zps: expected ", ", given 1099511627776"})) << printed;
}

// Functions that the drop-in defines and that oneDNN 3.2 lacks.
TEST_F(onednn_graph_refusals, functions_that_this_onednn_lacks) {
    const auto library = dlopen("libdnnl.so.3", RTLD_LAZY | RTLD_NOLOAD);
    ASSERT_NE(library, nullptr) << dlerror();
    const auto set_mode = [&] { return dnnl_graph_graph_set_fpmath_mode(graph, dnnl_fpmath_mode_any, 1); };
    if (dlsym(library, "dnnl_graph_graph_set_fpmath_mode"))
        ok(set_mode());
    else
        refused(dnnl_unimplemented,
                {"graph: fpmath mode: expected ", "that of its creation, which this oneDNN keeps", ", given 3"},
                set_mode);
    EXPECT_EQ(dnnl_graph_set_constant_tensor_cache_capacity(dnnl_cpu, 0),
            dlsym(library, "dnnl_graph_set_constant_tensor_cache_capacity") ? dnnl_success : dnnl_unimplemented);
    dlclose(library);
}

TEST_F(onednn_graph_refusals, both_refuse_with_our_status) {
    const auto op = kept(create(7, dnnl_graph_op_quantize, {tensor_of(0, dnnl_f32, {4})}, tensor_of(1, dnnl_u8, {4})));
    refused(dnnl_invalid_graph_op, {"op 7 'op' (Quantize): scales: expected ", "to be set", ", given none"},
            [&] { return dnnl_graph_add_op(graph, op); });
    EXPECT_TRUE(partitions().empty());
}

// A DynamicQuantize that computes its scales is dynquant's own; oneDNN refuses an op of one input.
TEST_F(onednn_graph_refusals, own_attributes_are_left_to_onednn) {
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

} // namespace

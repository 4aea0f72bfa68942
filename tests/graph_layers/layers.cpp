// A layer is a partition like others: its ports and ids, and what compile and execute take and give.
// The same for a program of dynquant::graph and for one of oneDNN with the drop-in.
#include <algorithm>
#include <set>
#include <thread>

#include "by_hand.hpp"
#include "support/environment.hpp"

namespace dynquant::test {
namespace {

/// All kinds of ports: a bias, an operand that is the first input of its op, and the result's scale.
struct chain_of_all_ports : small_chain {
    lt biased = product, doubled = f32(21, {2, 2}), codes = s8(22, {2, 2});
    lt bias = f32(30, {2}), factor = f32(31, {1}), y_scale = f32(32, {1}), y_zp = s32(33, {1});

    chain_of_all_ports() {
        ops.back() = {102, kind::MatMul, {x_real, w_real, bias}, {biased}, "product"};
        then({103, kind::Multiply, {factor, biased}, {}, "twice"}, doubled);
        then({104, kind::DynamicQuantize, {doubled, y_scale, y_zp}, {}, "qy"}, codes);
        give_data();
        give(bias, floats {1, 2}).give(factor, floats {2}).give(y_scale, floats {0.25F});
        give(y_zp, std::vector<std::int32_t> {-1});
    }
};
/// (product + {1, 2}) * 2 / 0.25 - 1; -4 8 2.375, -7 4.25 before.
const std::vector<std::int8_t> codes_of_all_ports = {-33, 18, -57, 33};

// ---- The partition ----

TEST(layers, have_their_ports_in_the_order_of_their_ops) {
    const chain_of_all_ports chain;
    const auto partitions = partitions_of(chain);
    ASSERT_EQ(partitions.size(), 1U);
    const auto &p = partitions.front();
    EXPECT_EQ(p.get_ops(), (id_list {100, 101, 102, 103, 104}));
    EXPECT_EQ(p.get_ops_num(), 5U);
    EXPECT_EQ(ids_of(p.get_input_ports()), (id_list {0, 1, 2, 10, 11, 12, 30, 31, 32, 33}));
    EXPECT_EQ(ids_of(p.get_output_ports()), id_list {22});
    EXPECT_EQ(p.get_output_ports().front().get_data_type(), type::s8);
    EXPECT_TRUE(p.is_supported());
    EXPECT_EQ(p.get_engine_kind(), dg::engine::kind::cpu);
    EXPECT_EQ(values_of<std::int8_t>(compile(p, chain).run(chain.data)), codes_of_all_ports);
}

TEST(layers, are_the_same_whatever_the_order_in_which_ops_are_added) {
    chain_of_all_ports chain;
    std::ranges::reverse(chain.ops);
    const auto partitions = partitions_of(chain);
    ASSERT_EQ(partitions.size(), 1U);
    EXPECT_EQ(ids_of(partitions.front().get_input_ports()), (id_list {0, 1, 2, 10, 11, 12, 30, 31, 32, 33}));
    EXPECT_EQ(values_of<std::int8_t>(compile(partitions.front(), chain).run(chain.data)), codes_of_all_ports);
}

TEST(layers, have_ids_of_their_own) {
    std::set<std::size_t> ids;
    for (int i = 0; i < 3; ++i)
        for (const auto &partition : partitions_of(two_chains()))
            EXPECT_TRUE(ids.insert(partition.get_id()).second) << partition.get_id();
    EXPECT_EQ(ids.size(), 6U);
}

TEST(layers, are_found_again_by_a_second_get_partitions) {
    small_chain p;
    p.give_data();
    dg::graph graph(dg::engine::kind::cpu);
    for (const auto &op : p.ops)
        graph.add_op(op);
    graph.finalize();
    const auto first = graph.get_partitions(), second = graph.get_partitions();
    const auto apart = graph.get_partitions(dg::partition::policy::debug), third = graph.get_partitions();
    EXPECT_EQ(apart.size(), 3U);
    for (const auto *found : {&first, &second, &third}) {
        ASSERT_EQ(found->size(), 1U);
        EXPECT_EQ(values_of<float>(compile(found->front(), p).run(p.data)), small_product);
    }
}

TEST(layers, outlive_the_graph_and_compiled_ones_the_partition) {
    std::optional<compiled> kept;
    const auto p = small_chain().give_data();
    {
        std::vector<dg::partition> partitions;
        {
            small_chain gone;
            partitions = partitions_of(gone);
        }
        kept = compile(partitions.front(), p);
    }
    EXPECT_EQ(values_of<float>(kept->run(p.data)), small_product);
}

TEST(layers, are_not_made_by_policy_debug) {
    auto p = small_chain().give_data();
    const auto partitions = partitions_of(p, dg::partition::policy::debug);
    EXPECT_EQ(ops_of(partitions), (std::vector<id_list> {{100}, {101}, {102}}));
    run_in_order(partitions, p);
    EXPECT_EQ(data_of(p, 3), (floats {-1, -0.5F, 0, 0.5F, 1, 1.5F}));
    EXPECT_EQ(data_of(p, 20), small_product);
}

// ---- Compile ----

TEST(layers, have_no_ports_in_place) {
    EXPECT_TRUE(compile_layer(chain_of_all_ports()).partition.get_inplace_ports().empty());
}

TEST(layers, give_a_row_major_result_for_layout_any) {
    for (const auto &asked : {lt(20, type::f32, {2, 2}, layout::any), lt(20, type::f32, 2, layout::any),
                 lt(20, type::f32, dims {unknown, 2}, layout::any), lt(20, type::f32, layout::any)}) {
        auto p = small_chain().give_data();
        p.y = asked;
        const auto c = compile_layer(p);
        const auto y = c.partition.query_logical_tensor(20);
        EXPECT_EQ(y.get_layout_type(), layout::strided);
        EXPECT_EQ(y.get_dims(), (dims {2, 2}));
        EXPECT_EQ(y.get_strides(), (dims {2, 1}));
        EXPECT_EQ(y.get_data_type(), type::f32);
        EXPECT_EQ(y.get_mem_size(), 16U);
        EXPECT_EQ(c.partition.query_logical_tensor(10).get_dims(), (dims {3, 2}));
        EXPECT_EQ(c.partition.query_logical_tensor(13).get_id(), static_cast<std::size_t>(-1)); // within the layer
        EXPECT_EQ(values_of<float>(c.run(p.data)), small_product);
    }
}

TEST(layers, take_dims_of_x_that_are_known_at_compile_only) {
    small_chain p;
    p.x = lt(0, type::u8, 2, layout::strided);
    p.x_real = lt(3, type::f32, 2, layout::strided);
    p.product = lt(20, type::f32, 2, layout::strided);
    p.set_up();
    p.give_data();
    const auto partitions = partitions_of(p);
    ASSERT_EQ(ops_of(partitions), (std::vector<id_list> {{100, 101, 102}}));
    EXPECT_EQ(values_of<float>(compile(partitions.front(), p).run(p.data)), small_product);
    p.give(u8(0, {1, 3}), std::vector<std::uint8_t> {4, 5, 6}); // the same partition, of other dims
    EXPECT_EQ(values_of<float>(compile(partitions.front(), p).run(p.data)), (floats {-8, 2.25F}));
}

TEST(layers, take_scales_by_row_before_the_count_of_rows_is_known) {
    small_chain p;
    p.x = lt(0, type::u8, dims {unknown, 3}, layout::strided);
    p.x_scale = lt(1, type::f32, dims {unknown}, layout::strided);
    p.x_real = lt(3, type::f32, dims {unknown, 3}, layout::strided);
    p.product = lt(20, type::f32, dims {unknown, 2}, layout::strided);
    for (const bool is_by_mask : {false, true}) {
        dg::op dequantize(100, kind::DynamicDequantize, {p.x, p.x_scale}, {p.x_real}, "dx");
        p.ops = {is_by_mask ? with_mask(dequantize, 1) : by_channel(dequantize, 0), by_channel(p.dequantize_w(), 1),
                p.matmul()};
        p.y = p.product;
        p.give_data().give(f32(1, {2}), floats {1, 0.5F});
        const auto partitions = partitions_of(p);
        ASSERT_EQ(ops_of(partitions), (std::vector<id_list> {{100, 101, 102}})) << is_by_mask;
        // 1 2 3 and 4 5 6 times w less its zero points: -8 18, -11 33.
        EXPECT_EQ(values_of<float>(compile(partitions.front(), p).run(p.data)), (floats {-16, 4.5F, -11, 33 * 0.125F}));
    }
}

TEST(layers, take_group_shape_of_a_whole_extent) {
    for (const auto &[mask, group, counts] :
            {std::tuple<std::int64_t, numbers, dims> {3, {1, 3}, {2, 1}}, {3, {2, 3}, {1, 1}}}) {
        small_chain p;
        p.x_scale = f32(1, counts);
        p.x_zp = s32(2, counts);
        p.set_up();
        p.ops.front() = with_mask(p.dequantize_x(), mask);
        p.ops.front().set_attr(dynquant::graph::newer::group_shape, group);
        p.give_data();
        const auto count = static_cast<std::size_t>(volume(counts));
        p.give(p.x_scale, floats(count, 0.5F)).give(p.x_zp, std::vector<std::int32_t>(count, 3));
        EXPECT_EQ(layer_gives(p), small_product) << mask << ' ' << testing::PrintToString(group);
    }
}

TEST(layers, are_compiled_by_several_threads_at_once) {
    const auto p = small_chain(property::constant).give_data();
    const auto partitions = partitions_of(p);
    std::vector<floats> results(8);
    std::vector<std::thread> threads;
    for (auto &result : results)
        threads.emplace_back([&] {
            for (int i = 0; i < 20; ++i)
                result = values_of<float>(compile(partitions.front(), p).run(p.data));
        });
    for (auto &t : threads)
        t.join();
    EXPECT_EQ(results, std::vector<floats>(8, small_product));
}

template <typename Graph>
bool set_mode(Graph &graph, dg::fpmath_mode mode, bool applies_to_int) {
    if constexpr (requires { graph.set_fpmath_mode(mode, applies_to_int); }) {
        graph.set_fpmath_mode(mode, applies_to_int);
        return true;
    }
    return false;
}

TEST(layers, give_the_same_bits_in_each_fpmath_mode) {
    const auto of_mode = [](dg::fpmath_mode mode) {
        small_chain p;
        p.give_data().give(p.x_scale, floats {0.1F}).give(p.w_scales, floats {0.3F, 1.7F});
        p.mode = mode;
        return p;
    };
    const floats expected = {-5 * (0.1F * 0.3F), 3 * (0.1F * 1.7F), -8 * (0.1F * 0.3F), 18 * (0.1F * 1.7F)};
    for (const auto mode :
            {dg::fpmath_mode::strict, dg::fpmath_mode::bf16, dg::fpmath_mode::f16, dg::fpmath_mode::any}) {
        EXPECT_EQ(layer_gives(of_mode(mode)), expected);
        for (const bool applies_to_int : {false, true}) {
            const auto p = of_mode(mode);
            dg::graph graph(dg::engine::kind::cpu);
            if (!set_mode(graph, mode, applies_to_int)) continue; // oneDNN's class before 3.4
            for (const auto &op : p.ops)
                graph.add_op(op);
            graph.finalize();
            const auto partitions = graph.get_partitions();
            ASSERT_EQ(partitions.size(), 1U);
            EXPECT_EQ(values_of<float>(compile(partitions.front(), p).run(p.data)), expected);
        }
    }
}

// ---- Execute ----

/// Runs with the buffers that it is given, which stay where they are.
bytes run_at(const compiled &c, std::map<std::size_t, bytes> &data) {
    std::vector<dg::tensor> in;
    for (const auto &t : c.inputs)
        in.emplace_back(t, cpu(), data.at(t.get_id()).data());
    const auto final = c.partition.query_logical_tensor(c.outputs.front().get_id());
    bytes y(final.get_mem_size());
    dg::stream stream(const_cast<dg::engine &>(cpu()));
    c.partition.execute(stream, in, {dg::tensor(final, cpu(), y.data())});
    return y;
}

TEST(layers, take_inputs_of_any_strides) {
    auto p = small_chain().give_data();
    const lt bias = f32(30, {2}), factor = f32(31, {1, 2}), result = f32(21, {2, 2});
    p.ops.back().add_input(bias);
    p.then({103, kind::Multiply, {p.product, factor}, {}, "multiply"}, result);
    // Both rows of x are one; w by columns; operands with gaps.
    p.give(lt(0, type::u8, {2, 3}, dims {0, 1}), std::vector<std::uint8_t> {4, 5, 6});
    p.give(lt(10, type::s8, {3, 2}, dims {1, 4}), std::vector<std::int8_t> {1, 3, -5, 99, -2, 4, 6});
    p.give(lt(30, type::f32, dims {2}, dims {3}), floats {1, 99, 99, 2});
    p.give(lt(31, type::f32, {1, 2}, dims {7, 2}), floats {2, 99, 4});
    EXPECT_EQ(layer_gives(p), (floats {-14, 17, -14, 17})); // -8 2.25 before
}

TEST(layers, read_inputs_of_layout_any_as_row_major) {
    for (const bool is_any : {false, true}) {
        auto p = small_chain().give_data();
        const lt bias = f32(30, {2}), factor = f32(31, {1, 2}), result = f32(21, {2, 2});
        p.ops.back().add_input(bias);
        p.then({103, kind::Multiply, {p.product, factor}, {}, "multiply"}, result);
        p.give(bias, floats {1, 2}).give(factor, floats {2, 4});
        if (is_any)
            for (auto &[id, t] : p.inputs)
                t = lt(id, t.get_data_type(), t.get_dims(), layout::any);
        const auto c = compile_layer(p);
        EXPECT_EQ(values_of<float>(c.run(p.data)), (floats {-8, 9.5F, -14, 17})); // -5 0.375, -8 2.25 before
        EXPECT_EQ(c.partition.query_logical_tensor(10).get_strides(), (dims {2, 1}));
    }
}

TEST(layers, are_executed_by_several_threads_at_once) {
    for (const auto of_w : {property::constant, property::variable}) {
        const auto p = small_chain(of_w).give_data();
        const auto c = compile_layer(p);
        std::vector<std::thread> threads;
        std::vector<int> wrong(8);
        for (int t = 0; t < 8; ++t)
            threads.emplace_back([&, t] {
                auto mine = p;
                // Twice the product, and t times a power of two.
                const auto factor = static_cast<float>(1 << t);
                mine.give(mine.x_scale, floats {0.5F * factor});
                auto expected = small_product;
                for (auto &v : expected)
                    v *= factor;
                for (int i = 0; i < 200; ++i)
                    wrong[static_cast<std::size_t>(t)] += values_of<float>(c.run(mine.data)) != expected;
            });
        for (auto &t : threads)
            t.join();
        EXPECT_EQ(wrong, std::vector<int>(8));
    }
}

/// What w's codes give once the first is 11 instead of 1: less -2 and 1 times 10 more in the first column.
const floats product_of_changed_w = {-25, 0.375F, 2, 2.25F};

void change(bytes &w) {
    w.front() = std::byte {11};
}

TEST(layers, pack_constant_weights_once_for_each_pointer) {
    auto p = small_chain(property::constant).give_data();
    const auto c = compile_layer(p);
    EXPECT_EQ(values_of<float>(run_at(c, p.data)), small_product);
    change(p.data.at(10));
    EXPECT_EQ(values_of<float>(run_at(c, p.data)), small_product) << "packed again";
    auto moved = p.data; // other pointers
    EXPECT_EQ(values_of<float>(run_at(c, moved)), product_of_changed_w);
    EXPECT_EQ(values_of<float>(run_at(c, p.data)), small_product);
    const auto another = compile_layer(small_chain(property::constant).give_data());
    EXPECT_EQ(values_of<float>(run_at(another, p.data)), product_of_changed_w);
}

TEST(layers, read_variable_weights_each_time) {
    for (const auto of_w : {property::variable, property::undef}) {
        auto p = small_chain(of_w).give_data();
        const auto c = compile_layer(p);
        EXPECT_EQ(values_of<float>(run_at(c, p.data)), small_product);
        change(p.data.at(10));
        EXPECT_EQ(values_of<float>(run_at(c, p.data)), product_of_changed_w);
    }
}

TEST(layers, read_constant_weights_each_time_without_a_constant_cache) {
    auto p = small_chain(property::constant).give_data();
    dg::set_constant_tensor_cache(0);
    const auto c = compile_layer(p);
    dg::set_constant_tensor_cache(1);
    EXPECT_EQ(values_of<float>(run_at(c, p.data)), small_product);
    change(p.data.at(10));
    EXPECT_EQ(values_of<float>(run_at(c, p.data)), product_of_changed_w);
}

TEST(layers, take_other_scales_zps_and_operands_at_each_run) {
    chain_of_all_ports p;
    p.ops.erase(p.ops.end() - 1);
    p.y = p.doubled;
    p.w = s8(10, {3, 2}, property::constant);
    p.inputs[10] = p.w;
    const auto c = compile_layer(p);
    EXPECT_EQ(values_of<float>(run_at(c, p.data)), (floats {-8, 4.75F, -14, 8.5F}));
    const auto now = [&](const lt &t, const auto &values) {
        std::ranges::copy(bytes_of(values), p.data.at(t.get_id()).begin()); // where they were
        return values_of<float>(run_at(c, p.data));
    };
    EXPECT_EQ(now(p.bias, floats {0, 0}), (floats {-10, 0.75F, -16, 4.5F}));
    EXPECT_EQ(now(p.factor, floats {-1}), (floats {5, -0.375F, 8, -2.25F}));
    EXPECT_EQ(now(p.x_scale, floats {1}), (floats {10, -0.75F, 16, -4.5F}));
    EXPECT_EQ(now(p.w_scales, floats {1, 1}), (floats {5, -3, 8, -18}));
    // x less 4: each sum less those of w, -1 and 5.
    EXPECT_EQ(now(p.x_zp, std::vector<std::int32_t> {4}), (floats {4, 2, 7, -13}));
    // w less 1, 0: the sums change by -1 and 1 times those of x less 4, -6 and 3.
    EXPECT_EQ(now(p.w_zps, std::vector<std::int32_t> {1, 0}), (floats {-2, 8, 10, -16}));
}

#if DYNQUANT_TEST_CONTROL_WORD
// The sums are -5 3, -8 18; the multipliers are products of scales, rounded to nearest even, subnormal with the least.
TEST(layers, give_the_same_bits_under_each_control_word) {
    for (const auto of_w : {property::variable, property::constant})
        for (const bool knows_scales : {false, true})
            for (const float x_scale : {0.1F, 0x1p-126F}) {
                auto p = small_chain(of_w).give_data();
                const floats of_x = {x_scale}, of_columns = {0.3F, 0.7F};
                p.give(p.x_scale, of_x).give(p.w_scales, of_columns);
                if (knows_scales) {
                    p.ops[0] = with_scales({100, kind::Dequantize, {p.x}, {p.x_real}, "dx"}, of_x, {3});
                    p.ops[1] = by_channel(
                            with_scales({101, kind::Dequantize, {p.w}, {p.w_real}, "dw"}, of_columns, {0, 1}), 1);
                }
                const float left = x_scale * 0.3F, right = x_scale * 0.7F;
                const floats expected = {-5 * left, 3 * right, -8 * left, 18 * right};
                for (const unsigned rounding : {0U, control::down, control::up, control::toward_zero})
                    for (const unsigned flushing : {0U, control::ftz | control::daz})
                        for (const unsigned masks : {control::masks, 0U}) {
                            floats result;
                            {
                                const scoped_control_word set(rounding | flushing | masks);
                                result = values_of<float>(run_at(compile_layer(p), p.data));
                            }
                            EXPECT_EQ(result, expected) << std::hex << (rounding | flushing | masks);
                        }
            }
}
#endif

} // namespace
} // namespace dynquant::test

// A layer is a partition like others: its ports and ids, what compile and execute take and give, which ops are in it.
// The same for a program of dynquant::graph and for one of oneDNN with the drop-in.
#include <algorithm>
#include <bit>
#include <cmath>
#include <set>
#include <thread>

#include "by_hand.hpp"

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

/// A second small chain behind the first, which multiplies what a DynamicQuantize makes of the first product.
struct two_chains : small_chain {
    lt q_scale = f32(40, {1}), q = s8(41, {2, 2}), q_real = f32(42, {2, 2});
    lt w2 = s8(50, {2, 1}), w2_scale = f32(51, {1}), w2_real = f32(52, {2, 1}), y2 = f32(60, {2, 1});

    two_chains() {
        then({103, kind::DynamicQuantize, {product, q_scale}, {}, "q"}, q);
        then({104, kind::DynamicDequantize, {q, q_scale}, {}, "dq"}, q_real);
        ops.push_back({105, kind::DynamicDequantize, {w2, w2_scale}, {w2_real}, "dw2"});
        then({106, kind::MatMul, {q_real, w2_real}, {}, "product2"}, y2);
        give_data();
        give(q_scale, floats {0.125F}).give(w2, std::vector<std::int8_t> {1, 2}).give(w2_scale, floats {1});
    }
};

TEST(layers, may_follow_each_other) {
    two_chains p;
    const auto partitions = partitions_of(p);
    EXPECT_EQ(ops_of(partitions), (std::vector<id_list> {{100, 101, 102, 103}, {104, 105, 106}}));
    run_in_order(partitions, p);
    EXPECT_EQ(data_of<std::int8_t>(p, 41), (std::vector<std::int8_t> {-40, 3, -64, 18}));
    EXPECT_EQ(data_of(p, 60), (floats {-5 + 0.75F, -8 + 4.5F}));
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
    for (const auto &[mask, group, counts] : {std::tuple<std::int64_t, numbers, dims> {3, {1, 3}, {2, 1}},
                 {3, {2, 3}, {1, 1}}}) {
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
    for (const auto mode : {dg::fpmath_mode::strict, dg::fpmath_mode::bf16, dg::fpmath_mode::f16, dg::fpmath_mode::any}) {
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

// ---- Other ops around a layer ----

TEST(layers, stand_between_other_ops_in_an_order_that_runs) {
    small_chain p;
    const lt raw = f32(70, {2, 3}), clipped = f32(71, {2, 3}), soft = f32(72, {2, 2});
    p.w_zps = s32(12, {1});
    p.w_scales = f32(11, {1});
    p.ops = {dg::op(110, kind::SoftMax, {p.product}, {soft}, "soft").set_attr<std::int64_t>(attr::axis, 1), p.matmul(),
            p.dequantize_w(), p.dequantize_x(),
            dg::op(111, kind::DynamicQuantize, {clipped, p.x_scale, p.x_zp}, {p.x}, "q"),
            dg::op(112, kind::ReLU, {raw}, {clipped}, "relu")};
    p.give(raw, floats {-7, 0.5F, 1, 0, -1, 2}).give(p.x_scale, floats {0.5F});
    p.give(p.x_zp, std::vector<std::int32_t> {3});
    p.give(p.w, std::vector<std::int8_t> {7, 7, 2, 2, -5, -5}).give(p.w_scales, floats {1});
    p.give(p.w_zps, std::vector<std::int32_t> {0});
    const auto partitions = partitions_of(p);
    EXPECT_EQ(ops_of(partitions), (std::vector<id_list> {{112}, {111, 100, 101, 102}, {110}}));
    run_in_order(partitions, p);
    EXPECT_EQ(data_of(p, 20), (floats {-4, -4, -10, -10}));
    EXPECT_EQ(data_of(p, 72), floats(4, 0.5F));
}

TEST(layers, share_a_dequantize_of_queries_keys_and_values) {
    auto p = small_chain().give_data();
    for (std::size_t i = 1; i <= 2; ++i) {
        const lt w = s8(10 + 100 * i, {3, 1}), scale = f32(11 + 100 * i, {1}), real = f32(13 + 100 * i, {3, 1});
        p.ops.push_back({101 + 100 * i, kind::DynamicDequantize, {w, scale}, {real}, "dw"});
        p.ops.push_back({102 + 100 * i, kind::MatMul, {p.x_real, real}, {f32(20 + 100 * i, {2, 1})}, "product"});
        p.give(w, std::vector<std::int8_t> {static_cast<std::int8_t>(i), 0, 1}).give(scale, floats {2});
    }
    const auto partitions = partitions_of(p);
    EXPECT_EQ(ops_of(partitions), (std::vector<id_list> {{100, 101, 102}, {201, 202}, {301, 302}}));
    for (const auto &each : partitions)
        EXPECT_EQ(each.get_input_ports().front().get_id(), 0U); // each reads x itself
    run_in_order(partitions, p);
    EXPECT_EQ(data_of(p, 20), small_product);
    EXPECT_EQ(data_of(p, 120), (floats {-2, 4})); // -2 -1 0 and 1 2 3, times 1 0 1
    EXPECT_EQ(data_of(p, 220), (floats {-4, 5}));
}

TEST(layers, share_a_dequantize_of_weights) {
    auto p = small_chain(property::constant).give_data();
    const lt x = s8(60, {1, 3}), scale = f32(61, {1}), real = f32(62, {1, 3});
    p.ops.push_back({110, kind::DynamicDequantize, {x, scale}, {real}, "dx2"});
    p.ops.push_back({111, kind::MatMul, {real, p.w_real}, {f32(63, {1, 2})}, "product2"});
    p.give(x, std::vector<std::int8_t> {1, 0, -1}).give(scale, floats {1});
    const auto partitions = partitions_of(p);
    EXPECT_EQ(ops_of(partitions), (std::vector<id_list> {{100, 101, 102}, {110, 111}}));
    run_in_order(partitions, p);
    EXPECT_EQ(data_of(p, 20), small_product);
    EXPECT_EQ(data_of(p, 63), (floats {12, -2})); // 6 -8 times 2 0.25
}

TEST(layers, leave_a_dequantize_that_others_read_a_partition_of_its_own) {
    auto p = small_chain().give_data();
    p.ops.push_back({103, kind::ReLU, {p.x_real}, {f32(70, {2, 3})}, "relu"});
    auto partitions = partitions_of(p);
    auto ops = ops_of(partitions);
    std::ranges::sort(ops);
    EXPECT_EQ(ops, (std::vector<id_list> {{100}, {101, 102}, {103}}));
    run_in_order(partitions, p);
    EXPECT_EQ(data_of(p, 20), small_product);
    EXPECT_EQ(data_of(p, 3), (floats {-1, -0.5F, 0, 0.5F, 1, 1.5F}));
    EXPECT_EQ(data_of(p, 70), (floats {0, 0, 0, 0.5F, 1, 1.5F}));
}

TEST(layers, end_where_two_ops_or_an_end_read_a_result) {
    auto p = small_chain().give_data();
    const lt relu = f32(70, {2, 2});
    p.ops.push_back({103, kind::ReLU, {p.product}, {relu}, "relu"});
    p.ops.push_back({104, kind::End, {p.product}, {}, "end"});
    auto partitions = partitions_of(p);
    std::erase_if(partitions, [](const auto &each) { return !each.is_supported(); }); // End's, which nobody runs
    EXPECT_EQ(ops_of(partitions), (std::vector<id_list> {{100, 101, 102}, {103}}));
    run_in_order(partitions, p);
    EXPECT_EQ(data_of(p, 20), small_product);
    EXPECT_EQ(data_of(p, 70), (floats {0, 0.375F, 0, 2.25F}));
}

TEST(layers, take_an_operand_that_another_op_gives) {
    auto p = small_chain().give_data();
    const lt raw = f32(70, {2}), operand = f32(71, {2}), sum = f32(21, {2, 2});
    p.then({103, kind::Add, {p.product, operand}, {}, "add"}, sum);
    p.ops.push_back({104, kind::ReLU, {raw}, {operand}, "relu"});
    p.give(raw, floats {-3, 8});
    const auto partitions = partitions_of(p);
    EXPECT_EQ(ops_of(partitions), (std::vector<id_list> {{104}, {100, 101, 102, 103}}));
    run_in_order(partitions, p);
    EXPECT_EQ(data_of(p, 21), (floats {-5, 8.375F, -8, 10.25F}));
}

TEST(layers, take_one_tensor_as_bias_and_as_operand) {
    auto p = small_chain().give_data();
    const lt both = f32(30, {2}), sum = f32(21, {2, 2});
    p.ops.back().add_input(both);
    p.then({103, kind::Multiply, {p.product, both}, {}, "multiply"}, sum).give(both, floats {2, 4});
    const auto c = compile_layer(p);
    EXPECT_EQ(ids_of(c.inputs), (id_list {0, 1, 2, 10, 11, 12, 30}));
    EXPECT_EQ(values_of<float>(c.run(p.data)), (floats {-6, 17.5F, -12, 25}));
}

TEST(layers, take_one_tensor_as_the_scales_of_both_sides) {
    auto p = small_chain().give_data();
    p.ops[1] = {101, kind::DynamicDequantize, {p.w, p.x_scale, p.x_zp}, {p.w_real}, "dw"};
    const auto c = compile_layer(p);
    EXPECT_EQ(ids_of(c.inputs), (id_list {0, 1, 2, 10}));
    // w less 3: -2 -5, 0 1, -8 3; both times 0.5.
    EXPECT_EQ(values_of<float>(c.run(p.data)), (floats {1, 9 / 4.0F, -26 / 4.0F, 6 / 4.0F}));
}

TEST(layers, multiply_one_dequantize_by_itself) {
    small_chain p;
    p.x = s8(0, {2, 2});
    p.x_real = f32(3, {2, 2});
    p.ops = {p.dequantize_x(), {102, kind::MatMul, {p.x_real, p.x_real}, {p.product}, "product"}};
    p.give(p.x, std::vector<std::int8_t> {4, 5, 1, 0}).give(p.x_scale, floats {0.5F});
    p.give(p.x_zp, std::vector<std::int32_t> {3});
    // 1 2, -2 -3 squared is -3 -4, 4 5.
    EXPECT_EQ(layer_gives(p), (floats {-0.75F, -1, 1, 1.25F}));
}

TEST(layers, multiply_one_tensor_that_two_ops_dequantize) {
    small_chain p;
    p.x = s8(0, {2, 2});
    p.x_real = f32(3, {2, 2});
    p.w_real = f32(13, {2, 2});
    p.ops = {p.dequantize_x(), {101, kind::DynamicDequantize, {p.x, p.w_scales}, {p.w_real}, "dw"}, p.matmul()};
    p.w_scales = f32(11, {1});
    p.ops[1] = {101, kind::DynamicDequantize, {p.x, p.w_scales}, {p.w_real}, "dw"};
    p.give(p.x, std::vector<std::int8_t> {4, 5, 1, 0}).give(p.x_scale, floats {0.5F}).give(p.w_scales, floats {2});
    p.give(p.x_zp, std::vector<std::int32_t> {3});
    const auto c = compile_layer(p);
    EXPECT_EQ(ids_of(c.inputs), (id_list {0, 1, 2, 11}));
    // 1 2, -2 -3 times 4 5, 1 0.
    EXPECT_EQ(values_of<float>(c.run(p.data)), (floats {6, 5, -11, -10}));
}

TEST(layers, take_what_they_dequantize_as_operand_too) {
    small_chain p;
    p.x = u8(0, {1, 2});
    p.x_real = f32(3, {1, 2});
    p.w = s8(10, {2, 2});
    p.w_real = f32(13, {2, 2});
    p.product = f32(20, {1, 2});
    p.set_up();
    p.then({103, kind::Add, {p.product, p.x_real}, {}, "residual"}, f32(21, {1, 2}));
    p.give_data();
    p.give(p.x, std::vector<std::uint8_t> {1, 5}).give(p.w, std::vector<std::int8_t> {1, 2, 3, 4});
    const auto partitions = partitions_of(p);
    run_in_order(partitions, p);
    // -2 2 times 1 1, 3 3 is 4 4, times 1 and 0.125, plus -1 1.
    EXPECT_EQ(data_of(p, 21), (floats {3, 1.5F}));
}

// ---- Which chains are layers ----

/// A static chain: x by one scale and zero point, w by column.
struct static_chain : program {
    explicit static_chain(const numbers &zps_of_w) {
        const lt x = u8(0, {2, 3}), w = s8(1, {3, 3}, property::constant);
        const lt x_real = f32(2, {2, 3}), w_real = f32(3, {3, 3}), product = f32(4, {2, 3});
        y = s8(5, {2, 3});
        ops = {with_scales({10, kind::Dequantize, {x}, {x_real}, "dx"}, {0.5F}, {3}),
                with_scales(by_channel({11, kind::Dequantize, {w}, {w_real}, "dw"}, 1), {1, 2, 0.5F}, zps_of_w),
                {12, kind::MatMul, {x_real, w_real}, {product}, "product"},
                with_scales({13, kind::Quantize, {product}, {y}, "q"}, {0.25F}, {1})};
        give(x, std::vector<std::uint8_t> {1, 2, 3, 4, 5, 6});
        give(w, std::vector<std::int8_t> {1, -2, 3, 4, 0, -1, 2, 5, -4});
    }
};

TEST(layers, take_static_weights_with_several_zps) {
    // The columns of w less 0, -1, -3 are 1 4 2, -1 1 6, 6 2 -1. The sums are -6 1 -14, 15 19 7, times 0.5, 1, 0.25.
    // oneDNN alone takes the zero point 0 for all columns: -11 17 -4, 31 53 -10.
    const static_chain p({0, -1, -3});
    EXPECT_EQ(layer_gives<std::int8_t>(p), (std::vector<std::int8_t> {-11, 5, -13, 31, 77, 8}));
}

TEST(layers, leave_static_weights_with_one_zp_to_onednn) {
    // 1 4 2, -2 0 5, 3 -1 -4 less 0: the second and third sums are 4 -5, 13 -11.
    const static_chain p({0, 0, 0});
    EXPECT_EQ(layer_gives<std::int8_t>(p), (std::vector<std::int8_t> {-11, 17, -4, 31, 53, -10}));
}

TEST(layers, take_a_static_x_with_several_zps) {
    // x by row, less 3 and 5: -2 -1 0, -1 0 1; times w's columns 1 4 2, -2 0 5, 3 -1 -4: -6 4 -5, 1 7 -7.
    static_chain p({0, 0, 0});
    p.ops.front() = with_scales(
            by_channel({10, kind::Dequantize, {u8(0, {2, 3})}, {f32(2, {2, 3})}, "dx"}, 0), {0.5F, 1}, {3, 5});
    EXPECT_EQ(layer_gives<std::int8_t>(p), (std::vector<std::int8_t> {-11, 17, -4, 5, 57, -13}));
}

TEST(layers, leave_an_add_of_another_dequantized_matrix_to_others) {
    static_chain p({0, -1, -3});
    const lt other = u8(6, {2, 3}), other_real = f32(7, {2, 3}), sum = f32(8, {2, 3});
    p.ops.insert(p.ops.begin() + 3, {with_scales({14, kind::Dequantize, {other}, {other_real}, "other"}, {0.25F}, {0}),
                                            {15, kind::Add, {f32(4, {2, 3}), other_real}, {sum}, "add"}});
    p.ops.back() = with_scales({13, kind::Quantize, {sum}, {p.y}, "q"}, {0.25F}, {1});
    p.give(other, std::vector<std::uint8_t> {0, 1, 2, 3, 4, 5});
    run_in_order(partitions_of(p), p);
    EXPECT_EQ(data_of<std::int8_t>(p, 5), (std::vector<std::int8_t> {-11, 6, -11, 34, 81, 13}));
}

TEST(layers, take_a_hardswish_that_is_written_by_parts) {
    const lt three = f32(30, {1}), sixth = f32(31, {1}), plus = f32(40, {2, 2}), clamped = f32(41, {2, 2}),
             times = f32(42, {2, 2});
    for (const bool divides : {true, false})
        for (const bool is_first : {true, false}) {
            auto p = small_chain().give_data();
            p.then({103, kind::Add, {p.product, three}, {}, "plus"}, plus);
            p.then(dg::op(104, kind::Clamp, {plus}, {}, "clamp").set_attr<float>(attr::min, 0).set_attr<float>(attr::max, 6),
                    clamped);
            p.then({105, kind::Multiply,
                           is_first ? std::vector {p.product, clamped} : std::vector {clamped, p.product}, {}, "times"},
                    times);
            p.then({106, divides ? kind::Divide : kind::Multiply, {times, sixth}, {}, "sixth"}, f32(43, {2, 2}));
            p.give(three, floats {3}).give(sixth, floats {divides ? 6.0F : 1.0F / 6});
            floats expected;
            for (const auto v : small_product) {
                const float product = std::clamp(v + 3, 0.0F, 6.0F) * v;
                expected.push_back(divides ? product / 6 : product * (1.0F / 6));
            }
            EXPECT_EQ(layer_gives(p), expected) << divides << is_first;
        }
}

TEST(layers, take_a_dynamic_quantize_before) {
    auto p = small_chain().give_data();
    const lt raw = f32(70, {2, 3});
    p.ops.insert(p.ops.begin(), {111, kind::DynamicQuantize, {raw, p.x_scale, p.x_zp}, {p.x}, "q"});
    p.give(raw, floats {-1, -0.5F, 0, 0.5F, 1, 1.5F});
    const auto c = compile_layer(p);
    EXPECT_EQ(ids_of(c.inputs), (id_list {70, 1, 2, 10, 11, 12}));
    EXPECT_EQ(values_of<float>(c.run(p.data)), small_product);
}

TEST(layers, compute_as_before_what_two_ops_read_of_a_quantize) {
    auto p = small_chain().give_data();
    const lt raw = f32(70, {2, 3}), again = f32(71, {2, 3});
    p.ops.insert(p.ops.begin(), {111, kind::DynamicQuantize, {raw, p.x_scale, p.x_zp}, {p.x}, "q"});
    p.ops.push_back({112, kind::DynamicDequantize, {p.x, p.x_scale}, {again}, "again"}); // without zps
    p.give(raw, floats {-1, -0.5F, 0, 0.5F, 1, 1.5F});
    auto partitions = partitions_of(p);
    auto ops = ops_of(partitions);
    std::ranges::sort(ops);
    EXPECT_EQ(ops, (std::vector<id_list> {{100, 101, 102}, {111}, {112}}));
    run_in_order(partitions, p);
    EXPECT_EQ(data_of(p, 20), small_product);
    EXPECT_EQ(data_of(p, 71), (floats {0.5F, 1, 1.5F, 2, 2.5F, 3}));
}

#if !defined(DYNQUANT_TEST_DROP_IN) // which leaves computed scales to oneDNN, as oneDNN has none
TEST(layers, end_before_a_quantize_that_computes_its_scales) {
    auto p = small_chain().give_data();
    const lt codes = s8(40, {2, 2}), scale = f32(41, {1});
    p.ops.push_back(dg::op(103, kind::DynamicQuantize, {p.product}, {codes, scale}, "q")
                            .set_attr<std::string>(dg::own::scale_rule, "absmax")
                            .set_attr(dg::own::narrow, true));
    p.give(p.x_scale, floats {127.0F / 16}); // the largest product is 127
    const auto partitions = partitions_of(p);
    EXPECT_EQ(ops_of(partitions), (std::vector<id_list> {{100, 101, 102}, {103}}));
    run_in_order(partitions, p);
    EXPECT_EQ(data_of(p, 41), floats {1});
    EXPECT_EQ(data_of<std::int8_t>(p, 40), (std::vector<std::int8_t> {-79, 6, -127, 36})); // -79.375 5.95 -127 35.7
}

TEST(layers, take_a_quantize_that_computes_its_scales) {
    small_chain p;
    const lt raw = f32(70, {2, 3});
    p.x = s8(0, {2, 3});
    p.x_scale = f32(1, {2});
    p.ops = {with_mask({111, kind::DynamicQuantize, {raw}, {p.x, p.x_scale}, "q"}, 1),
            with_mask({100, kind::DynamicDequantize, {p.x, p.x_scale}, {p.x_real}, "dx"}, 1),
            by_channel(p.dequantize_w(), 1), p.matmul()};
    p.ops.front().set_attr(dg::own::scale_rule, std::string("absmax")).set_attr(dg::own::narrow, true);
    p.y = p.product;
    p.give_data();
    p.data.erase(0), p.data.erase(1);
    // Scales 1 and 0.5, the largest of a row by 127: codes 127 -2 3, 4 -127 6.
    p.give(raw, floats {127, -2, 3, 2, -63.5F, 3});
    const auto c = compile_layer(p);
    EXPECT_EQ(ids_of(c.inputs), (id_list {70, 10, 11, 12}));
    // 127 -2 3 times 1 3 -5, -3 3 5: 106, -372; 4 -127 6: -407, -363.
    EXPECT_EQ(values_of<float>(c.run(p.data)), (floats {212, -372 * 0.25F, -407, -363 * 0.125F}));
}
#endif

TEST(layers, are_not_made_of_what_is_dequantized_to_narrower_floats) {
    for (const auto narrow : {type::bf16, type::f16}) {
        small_chain p;
        p.x_real = lt(3, narrow, {2, 3}, layout::strided);
        p.w_real = lt(13, narrow, {3, 2}, layout::strided);
        p.product = lt(20, narrow, {2, 2}, layout::strided);
        p.set_up();
        p.give_data();
        auto partitions = partitions_of(p);
        auto ops = ops_of(partitions);
        std::ranges::sort(ops);
        EXPECT_EQ(ops, (std::vector<id_list> {{100}, {101}, {102}}));
        // What multiplies them is oneDNN's, which has no such types on each processor.
        std::erase_if(partitions, [](const auto &each) { return each.get_ops().front() == 102; });
        run_in_order(partitions, p);
        const std::vector<std::uint16_t> x = narrow == type::bf16
                ? std::vector<std::uint16_t> {0xbf80, 0xbf00, 0, 0x3f00, 0x3f80, 0x3fc0}
                : std::vector<std::uint16_t> {0xbc00, 0xb800, 0, 0x3800, 0x3c00, 0x3e00};
        EXPECT_EQ(data_of<std::uint16_t>(p, 3), x);
    }
}

TEST(layers, are_not_made_of_vectors) {
    small_chain p;
    p.x = u8(0, {3});
    p.x_real = f32(3, {3});
    p.product = f32(20, {2});
    p.set_up();
    p.give_data();
    p.give(p.x, std::vector<std::uint8_t> {4, 5, 6});
    const auto partitions = partitions_of(p);
    EXPECT_EQ(partitions.size(), 3U);
    run_in_order(partitions, p);
    EXPECT_EQ(data_of(p, 20), (floats {-8, 2.25F}));
}

TEST(layers, of_no_rows_columns_or_terms) {
    for (const auto &[rows, inner, columns] :
            {std::tuple<std::int64_t, std::int64_t, std::int64_t> {0, 3, 2}, {2, 0, 2}, {2, 3, 0}, {0, 0, 0}}) {
        small_chain p;
        p.x = u8(0, {rows, inner});
        p.x_real = f32(3, {rows, inner});
        p.w = s8(10, {inner, columns}, property::constant);
        p.w_real = f32(13, {inner, columns});
        p.w_scales = f32(11, {columns});
        p.w_zps = s32(12, {columns});
        p.product = f32(20, {rows, columns});
        p.set_up();
        p.give(p.x, std::vector<std::uint8_t>(static_cast<std::size_t>(rows * inner)));
        p.give(p.w, std::vector<std::int8_t>(static_cast<std::size_t>(inner * columns)));
        p.give(p.x_scale, floats {1}).give(p.x_zp, std::vector<std::int32_t> {0});
        p.give(p.w_scales, floats(static_cast<std::size_t>(columns), 1.0F));
        p.give(p.w_zps, std::vector<std::int32_t>(static_cast<std::size_t>(columns)));
        auto y = layer_gives(p); // of a buffer that is larger
        y.resize(static_cast<std::size_t>(rows * columns));
        EXPECT_EQ(y, floats(y.size()));
    }
}

TEST(layers, take_an_x_whose_layout_onednn_chose) {
    auto p = small_chain().give_data();
    const lt raw = f32(70, {2, 3}), clipped = lt(71, type::f32, {2, 3}, layout::any);
    p.ops.insert(p.ops.begin(),
            {{110, kind::ReLU, {raw}, {clipped}, "relu"},
                    {111, kind::DynamicQuantize, {clipped, p.x_scale, p.x_zp}, {p.x}, "q"}});
    p.give(raw, floats {-1, -0.5F, 0, 0.5F, 1, 1.5F});
    const auto partitions = partitions_of(p);
    EXPECT_EQ(ops_of(partitions), (std::vector<id_list> {{110}, {111, 100, 101, 102}}));
    run_in_order(partitions, p);
    // 0 0 0, 1 2 3 times w.
    EXPECT_EQ(data_of(p, 20), (floats {0, 0, -8, 2.25F}));
}

TEST(layers, take_an_x_that_an_f32_product_gives_in_a_layout_of_its_choice) {
    auto p = small_chain().give_data();
    const lt a = f32(70, {2, 2}), b = f32(71, {2, 3}), raw = lt(72, type::f32, {2, 3}, layout::any);
    p.ops.insert(p.ops.begin(),
            {{110, kind::MatMul, {a, b}, {raw}, "floats"},
                    {111, kind::DynamicQuantize, {raw, p.x_scale, p.x_zp}, {p.x}, "q"}});
    p.give(a, floats {1, 0, 0, 1}).give(b, floats {-1, -0.5F, 0, 0.5F, 1, 1.5F});
    const auto partitions = partitions_of(p);
    EXPECT_EQ(ops_of(partitions), (std::vector<id_list> {{110}, {111, 100, 101, 102}}));
    run_in_order(partitions, p);
    EXPECT_EQ(data_of(p, 20), small_product);
}

TEST(layers, take_an_x_that_a_convolution_gives_in_a_layout_of_its_choice) {
    small_chain p;
    const lt image = f32(70, {1, 8, 2, 3}), filters(71, type::f32, {16, 8, 1, 1}, layout::strided, property::constant);
    const lt raw(72, type::f32, {1, 16, 2, 3}, layout::any);
    p.x = u8(0, {1, 16, 2, 3});
    p.x_real = f32(3, {1, 16, 2, 3});
    p.product = f32(20, {1, 16, 2, 2});
    p.set_up();
    dg::op convolution(110, kind::Convolution, {image, filters}, {raw}, "convolution");
    for (const auto name : {attr::strides, attr::dilations})
        convolution.set_attr(name, numbers {1, 1});
    for (const auto name : {attr::pads_begin, attr::pads_end})
        convolution.set_attr(name, numbers {0, 0});
    convolution.set_attr<std::string>(attr::data_format, "NCX").set_attr<std::string>(attr::weights_format, "OIX");
    p.ops.insert(p.ops.begin(), {convolution, {111, kind::DynamicQuantize, {raw, p.x_scale, p.x_zp}, {p.x}, "q"}});
    p.give_data();
    floats pixels, weights(16 * 8), expected;
    for (int c = 0; c < 8; ++c)
        pixels.insert(pixels.end(), {-1, -0.5F, 0, 0.5F, 1, 1.5F});
    for (std::size_t f = 0; f < 16; ++f) {
        weights[f * 8 + f % 8] = 1;
        expected.insert(expected.end(), small_product.begin(), small_product.end());
    }
    p.give(image, pixels).give(filters, weights);
    run_in_order(partitions_of(p), p);
    EXPECT_EQ(data_of(p, 20), expected);
}

TEST(layers, take_results_of_layout_any_within) {
    auto p = small_chain();
    const lt raw = f32(70, {2, 3});
    p.x = lt(0, type::u8, {2, 3}, layout::any);
    p.x_real = lt(3, type::f32, {2, 3}, layout::any);
    p.w_real = lt(13, type::f32, {3, 2}, layout::any);
    p.product = lt(20, type::f32, {2, 2}, layout::any);
    p.set_up();
    p.ops.insert(p.ops.begin(), {111, kind::DynamicQuantize, {raw, p.x_scale, p.x_zp}, {p.x}, "q"});
    p.then({103, kind::ReLU, {p.product}, {}, "relu"}, lt(21, type::f32, {2, 2}, layout::any));
    p.give_data().give(raw, floats {-1, -0.5F, 0, 0.5F, 1, 1.5F});
    EXPECT_EQ(layer_gives(p), (floats {0, 0.375F, 0, 2.25F}));
}

TEST(layers, end_at_what_takes_a_product_twice_or_second) {
    const lt operand = f32(30, {2}), result = f32(21, {2, 2});
    struct {
        dg::op op;
        floats expected;
    } const cases[] = {
            {{103, kind::Multiply, {f32(20, {2, 2}), f32(20, {2, 2})}, {result}, "square"}, {25, 0.140625F, 64, 5.0625F}},
            {{103, kind::Add, {f32(20, {2, 2}), f32(20, {2, 2})}, {result}, "twice"}, {-10, 0.75F, -16, 4.5F}},
            {{103, kind::Subtract, {operand, f32(20, {2, 2})}, {result}, "less"}, {6, 1.625F, 9, -0.25F}},
            {{103, kind::Divide, {operand, f32(20, {2, 2})}, {result}, "by"}, {-0.2F, 2 / 0.375F, -0.125F, 2 / 2.25F}},
    };
    for (const auto &[op, expected] : cases) {
        auto p = small_chain().give_data();
        p.ops.push_back(op);
        p.give(operand, floats {1, 2});
        const auto partitions = partitions_of(p);
        EXPECT_EQ(ops_of(partitions), (std::vector<id_list> {{100, 101, 102}, {103}}));
        run_in_order(partitions, p);
        EXPECT_EQ(data_of(p, 21), expected);
    }
}

TEST(layers, take_operands_of_rank_0) {
    auto p = small_chain().give_data();
    const lt operand = f32(30, {}), result = f32(21, {2, 2});
    p.then({103, kind::Multiply, {p.product, operand}, {}, "twice"}, result).give(operand, floats {2});
    EXPECT_EQ(layer_gives(p), (floats {-10, 0.75F, -16, 4.5F}));
}

TEST(layers, end_where_an_operand_is_no_vector_of_columns) {
    for (const auto &[operand, expected] : {std::pair<lt, floats> {f32(30, {2, 2}), {-4, 2.375F, -5, 6.25F}},
                 {f32(30, {2, 1}), {-4, 1.375F, -6, 4.25F}}}) {
        auto p = small_chain().give_data();
        p.then({103, kind::Add, {p.product, operand}, {}, "add"}, f32(21, {2, 2}));
        p.give(operand, operand.get_dims().back() == 2 ? floats {1, 2, 3, 4} : floats {1, 2});
        const auto partitions = partitions_of(p);
        EXPECT_EQ(ops_of(partitions), (std::vector<id_list> {{100, 101, 102}, {103}}));
        run_in_order(partitions, p);
        EXPECT_EQ(data_of(p, 21), expected);
    }
}

TEST(layers, are_not_made_where_the_rank_of_x_is_unknown) {
    small_chain p; // which may be 1
    p.x = lt(0, type::u8, layout::strided);
    p.x_real = lt(3, type::f32, layout::strided);
    p.product = lt(20, type::f32, layout::strided);
    p.set_up();
    const auto partitions = partitions_of(p);
    EXPECT_EQ(ops_of(partitions), (std::vector<id_list> {{100}, {101}, {102}}));
}

TEST(layers, of_one_x_may_take_what_another_gives) {
    auto p = small_chain().give_data();
    const lt second = f32(60, {2, 2}), summed = f32(61, {2, 2}), w2 = s8(50, {3, 2}), w2_real = f32(52, {3, 2});
    p.ops.push_back({110, kind::DynamicDequantize, {w2, p.x_scale}, {w2_real}, "dw2"});
    p.ops.push_back({111, kind::MatMul, {p.x_real, w2_real}, {second}, "product2"});
    // The second product's maximum by column is the first one's bias.
    p.ops.push_back(dg::op(112, kind::ReduceMax, {second}, {f32(63, {1, 2})}, "max")
                            .set_attr(attr::axes, numbers {0})
                            .set_attr<bool>(attr::keep_dims, true));
    p.then({113, kind::Add, {p.product, f32(63, {1, 2})}, {}, "add"}, summed);
    p.give(w2, std::vector<std::int8_t> {4, 0, 0, 4, 0, 4});
    const auto partitions = partitions_of(p);
    EXPECT_EQ(ops_of(partitions), (std::vector<id_list> {{110, 111}, {112}, {100, 101, 102, 113}}));
    run_in_order(partitions, p);
    // -2 -1 0, 1 2 3 times 4 0, 0 4, 0 4, a quarter: -2 -1, 1 5.
    EXPECT_EQ(data_of(p, 60), (floats {-2, -1, 1, 5}));
    EXPECT_EQ(data_of(p, 61), (floats {-4, 5.375F, -7, 7.25F}));
}

TEST(layers, take_the_first_of_two_ops_with_one_id) {
    auto p = small_chain().give_data();
    dg::graph graph(dg::engine::kind::cpu);
    for (const auto &op : p.ops)
        graph.add_op(op);
    // dynquant::graph refuses it, oneDNN ignores it.
    const dg::op again(102, kind::MatMul, {p.x_real, p.w_real}, {f32(21, {2, 2})}, "again");
#if defined(DYNQUANT_TEST_DROP_IN)
    graph.add_op(again);
#else
    EXPECT_EQ(graph.add_op(again, false), dg::status::invalid_graph);
#endif
    graph.finalize();
    const auto partitions = graph.get_partitions();
    ASSERT_EQ(ops_of(partitions), (std::vector<id_list> {{100, 101, 102}}));
    EXPECT_EQ(values_of<float>(compile(partitions.front(), p).run(p.data)), small_product);
}

} // namespace
} // namespace dynquant::test

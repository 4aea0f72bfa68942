// Graphs that mix quantization ops with oneDNN's other ops are split between both libraries and run right.
#include <algorithm>
#include <cstring>
#include <map>

#include "support/graph.hpp"
#include "support/onednn_isa.hpp"

namespace dynquant::test {
namespace {

using op_ids = std::vector<std::size_t>;

/// Runs a graph as a program does. Each partition is compiled with the logical tensors that its producers give.
class program {
  public:
    explicit program(const std::vector<dg::op> &ops, dg::partition::policy policy = dg::partition::policy::fusion) {
        dg::graph graph(dg::engine::kind::cpu);
        for (const auto &op : ops)
            graph.add_op(op);
        graph.finalize();
        partitions_ = graph.get_partitions(policy);
    }

    /// The ids of each partition's ops, sorted.
    std::vector<op_ids> partitions() const {
        std::vector<op_ids> all;
        for (const auto &p : partitions_) {
            all.push_back(p.get_ops());
            std::ranges::sort(all.back());
        }
        std::ranges::sort(all);
        return all;
    }
    const dg::partition &partition_of(std::size_t op) const {
        return *std::ranges::find_if(partitions_, [=](const auto &p) {
            const auto ops = p.get_ops();
            return std::ranges::find(ops, op) != ops.end();
        });
    }

    template <typename T>
    program &set(const lt &t, const std::vector<T> &values) {
        known_[t.get_id()] = t;
        const auto *bytes = reinterpret_cast<const std::byte *>(values.data());
        buffers_[t.get_id()].assign(bytes, bytes + values.size() * sizeof(T));
        return *this;
    }
    /// Sets the logical tensor of an output.
    program &want(const lt &t) {
        wanted_[t.get_id()] = t;
        return *this;
    }

    program &run() {
        dg::stream stream(cpu());
        for (const auto &p : partitions_) {
            std::vector<lt> inputs, outputs;
            for (const auto &port : p.get_input_ports())
                inputs.push_back(known_.at(port.get_id()));
            for (const auto &port : p.get_output_ports()) {
                const auto wanted = wanted_.find(port.get_id());
                outputs.push_back(wanted != wanted_.end()
                                ? wanted->second
                                : lt(port.get_id(), port.get_data_type(), port.get_dims(), layout::any));
            }
            const auto compiled = p.compile(inputs, outputs, cpu());
            std::vector<dg::tensor> in, out;
            for (const auto &t : inputs)
                in.emplace_back(t, cpu(), buffers_[t.get_id()].data());
            for (const auto &t : outputs) {
                const auto final = compiled.query_logical_tensor(t.get_id());
                known_[t.get_id()] = final;
                buffers_[t.get_id()].resize(final.get_mem_size());
                out.emplace_back(final, cpu(), buffers_[t.get_id()].data());
            }
            compiled.execute(stream, in, out);
            stream.wait();
            compiled_[p.get_ops().front()] = compiled;
        }
        return *this;
    }

    template <typename T>
    std::vector<T> values(const lt &t) {
        const auto &bytes = buffers_.at(t.get_id());
        std::vector<T> result(bytes.size() / sizeof(T));
        std::memcpy(result.data(), bytes.data(), bytes.size());
        return result;
    }
    const dg::compiled_partition &compiled(std::size_t op) const { return compiled_.at(op); }

  private:
    std::vector<dg::partition> partitions_;
    std::map<std::size_t, lt> known_, wanted_;
    std::map<std::size_t, std::vector<std::byte>> buffers_;
    std::map<std::size_t, dg::compiled_partition> compiled_;
};

dg::op quantize(std::size_t id, const lt &src, const lt &dst, const std::vector<float> &scales,
        const std::vector<std::int64_t> &zps = {}) {
    dg::op op(id, kind::Quantize, {src}, {dst}, "quantize");
    op.set_attr(attr::scales, scales);
    if (!zps.empty()) op.set_attr(attr::zps, zps);
    if (scales.size() > 1) op.set_attr<std::string>(attr::qtype, "per_channel");
    return op;
}

dg::op dequantize(std::size_t id, const lt &src, const lt &dst, float scale, std::int64_t zp) {
    dg::op op(id, kind::Dequantize, {src}, {dst}, "dequantize");
    op.set_attr(attr::scales, std::vector<float> {scale}).set_attr(attr::zps, std::vector<std::int64_t> {zp});
    return op;
}

const lt x = f32(0, {2, 3}), relu_out = f32(1, {2, 3}), scales = f32(2, {3}), zps = s32(3, {3}), y = u8(4, {2, 3});

dg::op relu() {
    return {1, kind::ReLU, {x}, {relu_out}, "relu"};
}

dg::op dynamic_quantize(std::int64_t axis) {
    dg::op op(2, kind::DynamicQuantize, {relu_out, scales, zps}, {y}, "quantize");
    op.set_attr<std::string>(attr::qtype, "per_channel").set_attr(attr::axis, axis);
    return op;
}

/// A quantize of relu_out, what it is given besides, and the y of it.
struct quantize_case {
    dg::op op;
    std::vector<float> scales;
    std::vector<std::int32_t> zps;
    std::vector<std::uint8_t> y;
};

// Each quantize, which oneDNN 3.2 refuses (zps per channel, a negative axis, a mask, no zps), follows an op that only
// oneDNN has.
TEST(mixed_graph, runs_an_op_of_each_library) {
    dg::op by_mask(2, kind::DynamicQuantize, {relu_out, f32(2, {2}), s32(3, {2})}, {y}, "quantize");
    by_mask.set_attr(dg::newer::mask, std::int64_t {1});
    // relu: 0 1 300 / 2.5 0 8
    const quantize_case cases[] = {
            // 0 + 7, 1 / 0.5, 150 + 200 saturates; 2.5 + 7 is a tie, 0, 4 + 200.
            {dynamic_quantize(1), {1, 0.5F, 2}, {7, 0, 200}, {7, 2, 255, 10, 0, 204}},
            {dynamic_quantize(-1), {1, 0.5F, 2}, {7, 0, 200}, {7, 2, 255, 10, 0, 204}},
            // 0 + 7, 1 + 7, 300 + 7 saturates; 5, 0, 16.
            {by_mask, {1, 0.5F}, {7, 0}, {7, 8, 255, 5, 0, 16}},
            {quantize(2, relu_out, y, {1, 0.5F, 2}), {}, {}, {0, 2, 150, 2, 0, 4}},
    };
    for (const auto &c : cases) {
        const auto count = static_cast<std::int64_t>(c.scales.size());
        program p({relu(), c.op});
        EXPECT_EQ(p.partitions(), (std::vector<op_ids> {{1}, {2}}));
        EXPECT_TRUE(p.partition_of(2).is_supported());
        p.set<float>(x, {-1, 1, 300, 2.5F, -3, 8}).set(f32(2, {count}), c.scales).set(s32(3, {count}), c.zps);
        p.want(relu_out).want(y).run();
        EXPECT_EQ(p.values<std::uint8_t>(y), c.y);
        EXPECT_EQ(p.compiled(2).get_info().kernel, kernel_kind::native);
        EXPECT_EQ(p.compiled(1).get_info().kernel, kernel_kind::onednn);
        EXPECT_EQ(p.compiled(1).get_info().isa, "graph");
    }
}

TEST(mixed_graph, does_not_depend_on_the_order_of_add_op) {
    program p({dynamic_quantize(1), relu()});
    EXPECT_EQ(p.partitions(), (std::vector<op_ids> {{1}, {2}}));
    EXPECT_EQ(p.partition_of(2).get_input_ports().front().get_id(), relu_out.get_id());
    EXPECT_EQ(p.partition_of(1).get_output_ports().front().get_id(), relu_out.get_id());
}

TEST(mixed_graph, keeps_fusions_of_onednn_whole) {
    const lt a = u8(0, {2, 2}), b = s8(1, {2, 2}), out = u8(2, {2, 2});
    const lt a_real = f32(10, {2, 2}), b_real = f32(11, {2, 2}), product = f32(12, {2, 2});
    program p({dequantize(1, a, a_real, 0.5F, 0), dequantize(2, b, b_real, 0.25F, 0),
            dg::op(3, kind::MatMul, {a_real, b_real}, {product}, "matmul"), quantize(4, product, out, {0.125F}, {0})});
    EXPECT_EQ(p.partitions(), (std::vector<op_ids> {{1, 2, 3, 4}}));
    EXPECT_TRUE(p.partition_of(4).is_supported());
    p.set<std::uint8_t>(a, {1, 2, 3, 4}).set<std::int8_t>(b, {1, 0, 2, 8}).want(out).run();
    // (1 2; 3 4) (1 0; 2 8) = (5 16; 11 32), by 0.5 * 0.25 / 0.125 = 1.
    EXPECT_EQ(p.values<std::uint8_t>(out), (std::vector<std::uint8_t> {5, 16, 11, 32}));
    // Without VNNI oneDNN's sums may saturate, so that the fusion is a layer.
    EXPECT_EQ(p.compiled(1).get_info().kernel, onednn_has_vnni() ? kernel_kind::onednn : kernel_kind::native);
}

TEST(mixed_graph, gives_its_quantization_ops_to_dynquant_without_fusion) {
    const lt a = u8(0, {2, 2}), a_real = f32(10, {2, 2}), positive = f32(11, {2, 2});
    program p({dequantize(1, a, a_real, 0.5F, 2), dg::op(3, kind::ReLU, {a_real}, {positive}, "relu")},
            dg::partition::policy::debug);
    EXPECT_EQ(p.partitions(), (std::vector<op_ids> {{1}, {3}}));
    p.set<std::uint8_t>(a, {0, 1, 2, 3}).want(a_real).want(positive).run();
    EXPECT_EQ(p.values<float>(positive), (std::vector<float> {0, 0, 0, 0.5F}));
    EXPECT_EQ(p.compiled(1).get_info().kernel, kernel_kind::native);
}

// oneDNN 3.2 refuses Quantize without zps. If its graph lacked that op, oneDNN would fuse MatMul and Add around it, and
// the partition would depend on its own result.
TEST(mixed_graph, keeps_the_place_of_an_op_that_onednn_refuses) {
    const lt a = f32(0, {2, 2}), b = f32(1, {2, 2}), product = f32(2, {2, 2}), rounded = s8(3, {2, 2});
    const lt restored = f32(4, {2, 2}), sum = f32(5, {2, 2});
    program p({dg::op(1, kind::MatMul, {a, b}, {product}, "matmul"), quantize(2, product, rounded, {2}),
            dequantize(3, rounded, restored, 2, 0), dg::op(4, kind::Add, {product, restored}, {sum}, "add")});
    const auto found = p.partitions();
    EXPECT_EQ(found, (std::vector<op_ids> {{1}, {2}, {3}, {4}}));
    p.set<float>(a, {1, 0, 0, 1}).set<float>(b, {1, 4, 7, 9});
    p.want(product).want(rounded).want(restored).want(sum).run();
    // 1 / 2 and 9 / 2 are ties: 0 and 4.
    EXPECT_EQ(p.values<float>(sum), (std::vector<float> {1, 8, 15, 17}));
}

// A convolution may choose an opaque layout, which only oneDNN can read. Then oneDNN also quantizes.
TEST(mixed_graph, keeps_opaque_layouts_within_onednn) {
    const lt image = f32(0, {1, 16, 4, 4}), weights = f32(1, {16, 16, 1, 1}), features = f32(2, {1, 16, 4, 4}),
             out = u8(3, {1, 16, 4, 4});
    dg::op conv(1, kind::Convolution, {image, weights}, {features}, "conv");
    conv.set_attr(attr::strides, dims {1, 1}).set_attr(attr::pads_begin, dims {0, 0});
    conv.set_attr(attr::pads_end, dims {0, 0}).set_attr(attr::dilations, dims {1, 1});
    conv.set_attr<std::string>(attr::data_format, "NCX").set_attr<std::string>(attr::weights_format, "OIX");
    program p({conv, dequantize(5, u8(8, {2}), f32(9, {2}), 1, 0), quantize(2, features, out, {0.5F}, {3})});
    std::vector<float> pixels(256), identity(256);
    std::vector<std::uint8_t> expected(256);
    for (std::size_t i = 0; i < 256; ++i) {
        pixels[i] = static_cast<float>(i % 100);
        identity[i] = i / 16 == i % 16 ? 1.0F : 0.0F;
        expected[i] = static_cast<std::uint8_t>(std::min<std::size_t>(255, 2 * (i % 100) + 3));
    }
    p.set(image, pixels).set(weights, identity).set<std::uint8_t>(u8(8, {2}), {5, 6}).want(out).want(f32(9, {2}));
    p.run();
    EXPECT_EQ(p.values<std::uint8_t>(out), expected);
    EXPECT_EQ(p.values<float>(f32(9, {2})), (std::vector<float> {5, 6}));
}

TEST(mixed_graph, runs_a_quantize_that_computes_its_scales) {
    const computed_op op {.src = relu_out, .scales = lt(4, type::f32), .mask = 1, .narrow = true};
    program p({relu(), op.make()});
    EXPECT_EQ(p.partitions(), (std::vector<op_ids> {{1}, {3}}));
    p.set<float>(x, {127, -1, 2, 254, 3, -2}).want(relu_out).want(op.dst).want(op.scales).run();
    EXPECT_EQ(p.values<std::int8_t>(op.dst), (std::vector<std::int8_t> {127, 0, 2, 127, 2, 0})); // 1.5, a tie
    EXPECT_EQ(p.values<float>(op.scales), (std::vector<float> {1, 2}));
}

TEST(mixed_graph, passes_the_fpmath_mode_to_both_libraries) {
    for (const bool early : {true, false}) {
        dg::graph graph(dg::engine::kind::cpu);
        if (early) graph.set_fpmath_mode(dg::fpmath_mode::any);
        graph.add_op(relu());
        graph.add_op(dynamic_quantize(1));
        if (!early) graph.set_fpmath_mode(dg::fpmath_mode::any);
        graph.finalize();
        EXPECT_EQ(graph.get_partitions().size(), 2u);
        graph.set_fpmath_mode(dg::fpmath_mode::strict);
        EXPECT_EQ(graph.get_partitions().size(), 2u);
    }
}

TEST(mixed_graph, gives_its_partitions_again) {
    dg::graph graph(dg::engine::kind::cpu);
    graph.add_op(relu());
    graph.add_op(dynamic_quantize(1));
    graph.finalize();
    const auto first = graph.get_partitions(), second = graph.get_partitions(dg::partition::policy::debug);
    ASSERT_EQ(first.size(), 2u);
    ASSERT_EQ(second.size(), 2u);
    EXPECT_EQ(first[0].get_input_ports().size(), 1u); // still connected
}

TEST(mixed_graph, has_single_op_partitions_of_onednn) {
    const dg::partition p(relu(), dg::engine::kind::cpu);
    EXPECT_EQ(p.get_ops(), op_ids {1});
    EXPECT_TRUE(p.is_supported());
    const auto compiled = p.compile({x}, {relu_out}, cpu());
    EXPECT_EQ(compiled.query_logical_tensor(1).get_dims(), (dims {2, 3}));
    EXPECT_EQ(compiled.query_logical_tensor(99).get_id(), static_cast<std::size_t>(-1));
    for (const auto &[in, out] : compiled.get_inplace_ports()) {
        EXPECT_EQ(in, 0u);
        EXPECT_EQ(out, 1u);
    }
}

} // namespace
} // namespace dynquant::test

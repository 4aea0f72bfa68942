// A chain of a few elements, whose results are worked out by hand, and graphs that are run as a program does.
#pragma once

#include <algorithm>
#include <string>
#include <utility>

#include <gtest/gtest.h>

#include "dynquant/newer_names.hpp"

#include "chain.hpp"

namespace dynquant::test {

using floats = std::vector<float>;
using numbers = std::vector<std::int64_t>;
using id_list = std::vector<std::size_t>;

inline constexpr std::int64_t unknown = DNNL_GRAPH_UNKNOWN_DIM;

inline lt f32(std::size_t id, const dims &shape) {
    return {id, type::f32, shape, layout::strided};
}
inline lt s32(std::size_t id, const dims &shape) {
    return {id, type::s32, shape, layout::strided};
}
inline lt s8(std::size_t id, const dims &shape, property of = property::variable) {
    return {id, type::s8, shape, layout::strided, of};
}
inline lt u8(std::size_t id, const dims &shape) {
    return {id, type::u8, shape, layout::strided};
}

inline dg::op by_channel(dg::op op, std::int64_t axis) {
    op.set_attr<std::string>(attr::qtype, "per_channel").set_attr<std::int64_t>(attr::axis, axis);
    return op;
}
inline dg::op with_mask(dg::op op, std::int64_t mask) {
    op.set_attr<std::int64_t>(dynquant::graph::newer::mask, mask);
    return op;
}
inline dg::op with_scales(dg::op op, const floats &scales, const numbers &zps) {
    op.set_attr(attr::scales, scales).set_attr(attr::zps, zps);
    return op;
}

/// x, 2 x 3 of u8, has one scale, 0.5, and one zero point, 3. w, 3 x 2 of s8, has by column the scales 2, 0.25 and the
/// zero points 0, 1. The run gives all of them. Less their zero points x is -2 -1 0, 1 2 3 and w is 1 -3, 3 3, -5 5.
/// The sums are -5 3, -8 18, so that the product is -5 0.375, -8 2.25.
struct small_chain : program {
    lt x = u8(0, {2, 3}), x_scale = f32(1, {1}), x_zp = s32(2, {1}), x_real = f32(3, {2, 3});
    lt w = s8(10, {3, 2}), w_scales = f32(11, {2}), w_zps = s32(12, {2}), w_real = f32(13, {3, 2});
    lt product = f32(20, {2, 2});

    explicit small_chain(property of_w = property::variable)
        : w(s8(10, {3, 2}, of_w)) {
        set_up();
    }

    /// Describes the ops anew, as the members now say.
    void set_up() {
        ops = {dequantize_x(), by_channel(dequantize_w(), 1), matmul()};
        y = product;
    }

    dg::op dequantize_x() const { return {100, kind::DynamicDequantize, {x, x_scale, x_zp}, {x_real}, "dx"}; }
    dg::op dequantize_w() const { return {101, kind::DynamicDequantize, {w, w_scales, w_zps}, {w_real}, "dw"}; }
    dg::op matmul() const { return {102, kind::MatMul, {x_real, w_real}, {product}, "product"}; }

    /// Adds an op behind, which gives y.
    small_chain &then(dg::op op, const lt &result) {
        op.add_output(result);
        ops.push_back(std::move(op));
        y = result;
        return *this;
    }

    using program::give;
    small_chain &give_data() {
        give(u8(0, {2, 3}), std::vector<std::uint8_t> {1, 2, 3, 4, 5, 6});
        give(x_scale, floats {0.5F}).give(x_zp, std::vector<std::int32_t> {3});
        give(w, std::vector<std::int8_t> {1, -2, 3, 4, -5, 6});
        give(w_scales, floats {2, 0.25F}).give(w_zps, std::vector<std::int32_t> {0, 1});
        return *this;
    }
};

inline const floats small_product = {-5, 0.375F, -8, 2.25F};

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

/// The ids of ops, of each partition.
inline std::vector<id_list> ops_of(const std::vector<dg::partition> &partitions) {
    std::vector<id_list> result;
    for (const auto &p : partitions)
        result.push_back(p.get_ops());
    return result;
}

/// The same, sorted, of partitions that do not depend on each other: oneDNN 3.2 and 3.7 give them in different orders.
inline std::vector<id_list> sorted_ops_of(const std::vector<dg::partition> &partitions) {
    auto result = ops_of(partitions);
    std::ranges::sort(result);
    return result;
}

inline id_list ids_of(const std::vector<lt> &ports) {
    id_list result;
    for (const auto &port : ports)
        result.push_back(port.get_id());
    return result;
}

/// What becomes of a graph that is one partition.
inline compiled compile_layer(const program &p) {
    const auto partitions = partitions_of(p);
    EXPECT_EQ(partitions.size(), 1U);
    EXPECT_EQ(partitions.front().get_ops_num(), p.ops.size());
    return compile(partitions.front(), p);
}
template <typename T = float>
std::vector<T> layer_gives(const program &p) {
    return values_of<T>(compile_layer(p).run(p.data));
}

/// Runs the partitions in their order, each on the data that the program has or that those before gave. Adds to the
/// data what they give.
inline void run_in_order(const std::vector<dg::partition> &partitions, program &p) {
    for (const auto &each : partitions) {
        std::vector<lt> inputs, outputs = each.get_output_ports();
        for (const auto &port : each.get_input_ports()) {
            ASSERT_TRUE(p.data.contains(port.get_id())) << port.get_id() << " is not there yet";
            inputs.push_back(p.inputs.at(port.get_id()));
        }
        const auto compiled = each.compile(inputs, outputs, cpu());
        std::vector<dg::tensor> in, out;
        for (const auto &t : inputs)
            in.emplace_back(t, cpu(), p.data.at(t.get_id()).data());
        for (const auto &t : outputs) {
            const auto id = t.get_id();
            p.inputs[id] = compiled.query_logical_tensor(id);
            p.data[id].assign(p.inputs[id].get_mem_size(), std::byte {0x5a});
            out.emplace_back(p.inputs[id], cpu(), p.data[id].data());
        }
        dg::stream stream(const_cast<dg::engine &>(cpu()));
        compiled.execute(stream, in, out);
        stream.wait();
    }
}

template <typename T = float>
std::vector<T> data_of(const program &p, std::size_t id) {
    return values_of<T>(p.data.at(id));
}

} // namespace dynquant::test

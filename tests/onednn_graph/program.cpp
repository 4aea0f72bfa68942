// A program written for oneDNN Graph, which knows nothing of dynquant. It prints a line for each case: the results, or
// "refused". It is run plain, linked with the drop-in before libdnnl, and with the drop-in preloaded.
#include <cstdint>
#include <iostream>
#include <string>
#include <tuple>
#include <vector>

#include "oneapi/dnnl/dnnl_graph.hpp"

namespace {

using namespace dnnl::graph;
using lt = logical_tensor;
using type = lt::data_type;
using dims = lt::dims;

const engine &cpu() {
    static const engine e(engine::kind::cpu, 0);
    return e;
}

lt tensor_of(std::size_t id, type t, const dims &shape) {
    return {id, t, shape, lt::layout_type::strided};
}

/// Runs the only partition of a graph and prints its six results.
template <typename T = std::uint8_t>
void run(const char *name, const op &statement, const std::vector<lt> &inputs, std::vector<void *> buffers,
        const lt &output) {
    std::cout << name << ':';
    try {
        graph g(engine::kind::cpu);
        g.add_op(statement);
        g.finalize();
        const auto compiled = g.get_partitions().at(0).compile(inputs, {output}, cpu());
        std::vector<T> results(6);
        std::vector<tensor> in;
        for (std::size_t i = 0; i < inputs.size(); ++i)
            in.emplace_back(inputs[i], cpu(), buffers[i]);
        stream s(cpu());
        compiled.execute(s, in, {tensor(output, cpu(), results.data())});
        s.wait();
        for (const auto value : results)
            std::cout << ' ' << +value;
    } catch (const dnnl::error &) {
        std::cout << " refused";
    }
    std::cout << '\n';
}

/// DynamicQuantize, per_channel along an axis.
op per_channel(std::size_t id, const char *name, const std::vector<lt> &inputs, const lt &output, std::int64_t axis) {
    op result(id, op::kind::DynamicQuantize, inputs, {output}, name);
    return result.set_attr<std::string>(op::attr::qtype, "per_channel").set_attr<std::int64_t>(op::attr::axis, axis);
}

} // namespace

int main() {
    std::vector<float> x = {-1, 1, 300, 2.5F, -3, 8}, scales = {1, 0.5F, 2};
    std::vector<std::uint8_t> zps = {7, 0, 200};
    const lt src = tensor_of(0, type::f32, {2, 3}), s = tensor_of(1, type::f32, {3}), z = tensor_of(2, type::u8, {3}),
             dst = tensor_of(3, type::u8, {2, 3});

    run("per_channel_zps", per_channel(1, "zero_points", {src, s, z}, dst, 1), {src, s, z},
            {x.data(), scales.data(), zps.data()}, dst);
    run("negative_axis", per_channel(2, "negative", {src, s}, dst, -1), {src, s}, {x.data(), scales.data()}, dst);

    op fixed(3, op::kind::Quantize, {src}, {dst}, "fixed");
    fixed.set_attr(op::attr::scales, std::vector<float> {2});
    run("no_zps", fixed, {src}, {x.data()}, dst);

    // Quotients just below 9.5, 10.5, ...: products with the rounded reciprocal of 0.06 are just above.
    std::vector<float> near_ties = {
            0x1.23d708p-1F, 0x1.428f5cp-1F, 0x1.6147acp-1F, 0x1.8p-1F, 0x1.9eb85p-1F, 0x1.bd70a4p-1F};
    std::vector<float> steps(6, 0.06F);
    const lt row = tensor_of(4, type::f32, {1, 6}), six = tensor_of(5, type::f32, {6}),
             out = tensor_of(6, type::u8, {1, 6});
    run("near_ties", per_channel(4, "ties", {row, six}, out, 1), {row, six}, {near_ties.data(), steps.data()}, out);

    const lt two = tensor_of(7, type::f32, {2});
    run("too_few_scales", per_channel(5, "short_list", {src, two}, dst, 1), {src, two}, {x.data(), scales.data()}, dst);

    // oneDNN 3.14's attribute mask, whose number programs may set on older ones: parameters for each row.
    const lt two_zps = tensor_of(9, type::u8, {2});
    op masked(7, op::kind::DynamicQuantize, {src, two, two_zps}, {dst}, "masked");
    masked.set_attr<std::int64_t>(static_cast<op::attr>(0x33), 1);
    run("mask", masked, {src, two, two_zps}, {x.data(), scales.data(), zps.data()}, dst);

    // Ops that oneDNN fuses in all three.
    graph g(engine::kind::cpu);
    const lt a = tensor_of(10, type::u8, {2, 2}), b = tensor_of(11, type::s8, {2, 2}),
             a_real = tensor_of(12, type::f32, {2, 2}), b_real = tensor_of(13, type::f32, {2, 2}),
             product = tensor_of(14, type::f32, {2, 2});
    for (const auto &[id, from, to] : {std::tuple<std::size_t, lt, lt> {8, a, a_real}, {9, b, b_real}}) {
        op dequantize(id, op::kind::Dequantize, {from}, {to}, "fused");
        dequantize.set_attr(op::attr::scales, std::vector<float> {2});
        g.add_op(dequantize.set_attr(op::attr::zps, std::vector<std::int64_t> {0}));
    }
    g.add_op(op(10, op::kind::MatMul, {a_real, b_real}, {product}, "matmul"));
    g.finalize();
    std::cout << "dequantize and matmul: " << g.get_partitions().size() << " partition\n";

    // An op that oneDNN computes in all three.
    const lt positive = tensor_of(8, type::f32, {2, 3});
    run<float>("relu", op(6, op::kind::ReLU, {src}, {positive}, "relu"), {src}, {x.data()}, positive);
}

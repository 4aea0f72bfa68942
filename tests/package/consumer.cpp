// Uses the public headers, and catches exceptions that the library throws.
#include <array>
#include <cstdint>
#include <cstdio>

#if __has_include(<dynquant/graph.hpp>)
#include <dynquant/graph.hpp>
#define HAS_GRAPH 1
#else // built with DYNQUANT_GRAPH=OFF
#define HAS_GRAPH 0
#endif
#include <dynquant/onnx.hpp>
#include <dynquant/quantization.hpp>
#include <dynquant/version.hpp>

static_assert(__cplusplus < 202002L, "this program shows that C++17 is enough");

namespace {

#if HAS_GRAPH
namespace dg = dynquant::graph;

bool quantizes_by_graph() {
    using lt = dg::logical_tensor;
    const lt src(0, lt::data_type::f32, lt::dims {4}, lt::layout_type::strided);
    const lt dst(1, lt::data_type::u8, lt::dims {4}, lt::layout_type::strided);
    dg::op quantize(0, dg::op::kind::Quantize, {src}, {dst}, "quantize");
    quantize.set_attr<std::vector<float>>(dg::op::attr::scales, {0.5F});
    quantize.set_attr<std::vector<std::int64_t>>(dg::op::attr::zps, {10});

    dg::graph graph(dg::engine::kind::cpu);
    graph.add_op(quantize);
    graph.finalize();
    const dg::engine engine(dg::engine::kind::cpu, 0);
    dg::stream stream(engine);
    auto compiled = graph.get_partitions().at(0).compile({src}, {dst}, engine);

    std::array<float, 4> values {-100.F, 0.F, 1.F, 1000.F};
    std::array<std::uint8_t, 4> result {};
    compiled.execute(stream, {dg::tensor(src, engine, values.data())}, {dg::tensor(dst, engine, result.data())});
    return result == std::array<std::uint8_t, 4> {0, 10, 12, 255};
}

#else
bool quantizes_by_graph() {
    return true;
}
#endif

bool refuses_nonsense() {
    try {
        dynquant::prepare(dynquant::quantization {});
    } catch (const dynquant::error &) {
        return true;
    }
    return false;
}

bool quantizes_by_onnx() {
    dynquant::onnx::node node {"QuantizeLinear"};
    node.opset = 13;
    node.inputs = {{1, {4}}, {1, {}}};
    const std::array<float, 4> x = {0.0F, 1.0F, 2.5F, 1000.0F};
    const float scale = 0.5F;
    std::array<std::uint8_t, 4> y {};
    dynquant::onnx::prepare(node).run({x.data(), &scale, nullptr, y.data()});
    return y == std::array<std::uint8_t, 4> {0, 2, 5, 255};
}

} // namespace

int main() {
    const bool right = quantizes_by_graph() && quantizes_by_onnx() && refuses_nonsense();
    std::printf("dynquant %d.%d.%d, %s oneDNN Graph: %s\n", DYNQUANT_VERSION_MAJOR, DYNQUANT_VERSION_MINOR,
            DYNQUANT_VERSION_PATCH, HAS_GRAPH ? "with" : "without", right ? "right" : "WRONG");
    return right ? 0 : 1;
}

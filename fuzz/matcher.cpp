// Graphs with layers, of which types, shapes and uses change here and there: what is found is the same layer alone, and
// nothing outside takes what it computes on the way.
#include "layers/match/describe.hpp"
#include "layers/random_graph.hpp"
#include "target.hpp"

namespace {

using namespace dynquant::layers::match;
using dynquant::test::random_source;

void change(graph &g, random_source &random) {
    auto &v = g.values[static_cast<std::size_t>(random.within(0, std::ssize(g.values) - 1))];
    switch (random.within(0, 6)) {
        case 0: v.shape.reset(); break;
        case 1:
            if (v.shape && !v.known && !v.shape->empty()) v.shape->front() = -1;
            break;
        case 2: v.is_seen_outside = true; break;
        case 3:
            ++v.subgraph_consumers;
            v.is_seen_outside = true;
            break;
        case 4:
            if (!v.known) v.type.reset();
            break;
        case 5:
            if (v.known) {
                v.known.reset();
                v.is_replaced = random.chance(50);
            }
            break;
        default: v.is_summand = !v.known && v.type == dynquant::data_type::f32;
    }
}

} // namespace

extern "C" int LLVMFuzzerInitialize(int *, char ***) {
    GTEST_FLAG_SET(throw_on_failure, true); // an exception that nothing catches
    return 0;
}

int LLVMFuzzerTestOneInput(const std::uint8_t *data, std::size_t size) {
    random_source random(std::span(data, size));
    auto changes = random.within(0, 3);
    const random_graph drawn(random);
    auto g = drawn.result();
    for (; changes > 0; --changes)
        change(g, random);
    std::vector<bool> is_taken(g.nodes.size());
    std::vector<layer_match> layers;
    for (std::size_t i = 0; i < g.nodes.size(); ++i) {
        if (!is_product(g.nodes[i]) || is_taken[i]) continue;
        auto found = find_layer(g, i, is_taken);
        if (!found.found) {
            fuzz::expect(!found.reason.empty(), "expected a layer or a reason");
            continue;
        }
        expect_the_same_alone(g, *found.found);
        take_heads(g, *found.found, is_taken);
        fuzz::expect(describe(g, *found.found).weights_shape.size() >= 2, "expected the shape of weights");
        for (const auto node : found.found->nodes) {
            fuzz::expect(!is_taken[node], "expected a node that no other layer has");
            is_taken[node] = true;
        }
        layers.push_back(std::move(*found.found));
    }
    for (std::size_t i = 0; i < g.nodes.size(); ++i)
        if (g.nodes[i].is(op::dynamic_quantize_linear, op::dynamic_quantize_rows))
            find_row_scales(g, i, layers, layers_by_node(g, layers));
    return 0;
}

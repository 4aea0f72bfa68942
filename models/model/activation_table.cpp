#include "model/activation_table.hpp"

#include <cstring>

#include "model/executor.hpp"
#include "model/infer.hpp"
#include "model/plain_stages.hpp"

namespace dynquant::models {
namespace {

/// The input of a chain's first node. Each other node takes the output of the one before it.
const std::string &input_of(const graph &g, std::span<const std::size_t> nodes) {
    return g.nodes[nodes.front()].inputs.front();
}

/// A model of only these nodes, on a vector of `count` elements.
graph chain_of(const graph &g, std::span<const std::size_t> nodes, onnx::element_type from, std::int64_t count) {
    graph chain;
    chain.opsets = g.opsets;
    chain.inputs.push_back({input_of(g, nodes), from, dims {count}});
    for (const auto index : nodes) {
        const auto &n = g.nodes[index];
        chain.nodes.push_back(n);
        for (const auto &input : n.inputs)
            if (const auto constant = g.initializers.find(input); constant != g.initializers.end()) {
                auto scalar = constant->second;
                scalar.what.shape.clear();
                chain.initializers.emplace(input, std::move(scalar));
            }
    }
    chain.outputs.push_back({chain.nodes.back().outputs.front()});
    infer(chain, {});
    return chain;
}

/// The elements whose bits are 0, 1, 2 and so on.
std::vector<std::byte> all_values(std::size_t count, std::size_t element_bytes) {
    std::vector<std::byte> values(count * element_bytes);
    for (std::size_t i = 0; i < count; ++i)
        std::memcpy(values.data() + i * element_bytes, &i, element_bytes); // little endian
    return values;
}

} // namespace

std::vector<std::uint8_t> table_of(
        const graph &g, std::span<const std::size_t> nodes, onnx::element_type from, const options &opts) {
    const auto bits = static_cast<std::size_t>(*bits_in(from)), count = std::size_t {1} << bits;
    const auto chain = chain_of(g, nodes, from, static_cast<std::int64_t>(count));
    const executor run_chain(plain_stages(chain, opts), chain, 1);
    const auto values = all_values(count, bits / 8);
    std::vector<std::uint8_t> table(count);
    const void *const input = values.data();
    void *const output = table.data();
    run_chain.run(std::span(&input, 1), std::span(&output, 1));
    return table;
}

} // namespace dynquant::models

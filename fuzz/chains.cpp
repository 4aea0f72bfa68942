// Chains of oneDNN Graph's ops that dynquant computes as one layer, between other ops: partitions, compilation and runs
// by three instruction sets give what exact integers and f32 give. Compile with other dims than those of the run
// succeeds or refuses them.
#include "graph_layers/random_convolution.hpp"
#include "graph_layers/random_narrow_chain.hpp"
#include "graph_layers/random_product.hpp"
#include "target.hpp"

namespace {

using namespace dynquant::test;

/// Perhaps compiles the layer with another rank or other dims of one tensor.
void compile_with_another(const program &p, number_source n) {
    if (!n.chance(30)) return; // oneDNN takes longer to partition the graph again
    for (const auto &partition : partitions_of(p)) {
        if (partition.get_ops_num() == 1) continue; // oneDNN's: 3.2 never ends compiling some
        std::vector<lt> inputs, outputs = partition.get_output_ports();
        for (const auto &port : partition.get_input_ports())
            inputs.push_back(p.inputs.contains(port.get_id()) ? p.inputs.at(port.get_id()) : port);
        auto &list = n.chance(90) && !inputs.empty() ? inputs : outputs;
        auto &changed = list.at(static_cast<std::size_t>(n.within(0, std::ssize(list) - 1)));
        dims extents(static_cast<std::size_t>(n.within(0, 5)));
        for (auto &extent : extents)
            extent = n.within(n.chance(5) ? -3 : 0, 4);
        changed = lt(changed.get_id(), changed.get_data_type(), extents, n.chance(90) ? layout::strided : layout::any);
        try {
            partition.compile(inputs, outputs, cpu());
        } catch (const dnnl::error &) { // what it says is layers_refusals' to expect
        }
    }
}

} // namespace

extern "C" int LLVMFuzzerInitialize(int *, char ***) {
    GTEST_FLAG_SET(throw_on_failure, true); // an exception that nothing catches
    return 0;
}

int LLVMFuzzerTestOneInput(const std::uint8_t *data, std::size_t size) {
    if (size == 0) return -1;
    const number_source n(std::span(data + 1, size - 1));
    const bool tells_ranks = data[0] / 3 % 2 == 0;
    const auto run = [&](const auto &chain, const auto &run_whole) {
        run_whole(chain);
        compile_with_another(chain.graph(), n);
    };
    switch (data[0] % 3) {
        case 0: run(random_product(n, tells_ranks), run_chain); break;
        case 1: run(random_convolution(n, tells_ranks), run_chain); break;
        default: run(random_narrow_chain(n), run_narrow_chain);
    }
    return 0;
}

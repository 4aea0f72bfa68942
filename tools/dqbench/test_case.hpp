// A test case: all that a result line's __REPRO says, and so all that decides what is run.
#pragma once

#include <optional>
#include <vector>

#include "dynquant/quantization.hpp"
#include "layout.hpp"
#include "oneapi/dnnl/dnnl_graph.hpp"
#include "problem.hpp"

namespace dqbench {

/// oneDNN Graph's, and what the direct API has besides.
enum class op_kind { DynamicQuantize, DynamicDequantize, Quantize, Dequantize, Requantize };
using dnnl::graph::fpmath_mode;
using dynquant::data_type;

struct data_types {
    data_type src, scales;
    std::optional<data_type> zps;
    data_type dst;

    bool operator==(const data_types &) const = default;
};

enum class granularity { per_tensor, per_channel, per_group };

/// How scales and zero points are drawn; parameters.hpp has the values.
enum class parameter_kind { usual, pow2, wild };

/// auto: the library chooses. limit: no kernel of the library, but what bounds them (limit/limit.hpp).
enum class kernel_choice { automatic, native, onednn, reference, limit };

/// Whose rounding: oneDNN's, of which the fpmath mode says more, or dynquant::numerics::onnx.
enum class rule_kind { onednn, onnx };

enum class api_kind { graph, direct };

/// Whether a sample finds the buffers where the one before it left them, or in memory alone.
enum class cache_state { warm, cold };

enum class peer_kind { limit, onednn_graph, onednn_reorder, xnnpack };

enum class run_mode { list, run, correctness, performance, correctness_and_performance, fast };

/// When measuring stops.
struct measuring {
    std::int64_t times = 0; // rounds; 0: until the time is over
    double milliseconds = 3000;

    bool operator==(const measuring &) const = default;
};

struct test_case {
    // How to run.
    run_mode mode = run_mode::correctness;
    kernel_choice kernel = kernel_choice::automatic;
    std::optional<dynquant::isa> isa = {}; // none: what the processor has
    int threads = 0;                       // 0: as many as the machine has
    api_kind api = api_kind::graph;
    cache_state cache = cache_state::warm;
    std::vector<peer_kind> peers = {};
    measuring limits = {};

    // What to run.
    op_kind op = op_kind::DynamicQuantize;
    data_types types = {data_type::f32, data_type::f32, {}, data_type::s8};
    fpmath_mode fpmath = fpmath_mode::strict;
    rule_kind rule = rule_kind::onednn;
    dynquant::precision division = dynquant::precision::f32; // under the rule onnx, as the next
    bool saturate = false;
    parameter_kind parameters = parameter_kind::usual;
    std::vector<float> scales = {};     // empty: drawn; else these, again and again
    std::vector<std::int32_t> zps = {}; // the same; of Requantize, the biases
    layout src_layout = {}, dst_layout = {};
    granularity qtype = granularity::per_tensor;
    std::int64_t axis = 1;                   // for per_channel only
    dynquant::dims group = {32};             // for per_group only; of the last dims, 1 for those before
    std::optional<std::int64_t> offset = {}; // elements from an aligned address; none: workspace.hpp
    problem prb = {};

    bool operator==(const test_case &) const = default;
};

inline bool quantizes(op_kind op) {
    return op != op_kind::DynamicDequantize && op != op_kind::Dequantize;
}

/// Scales and zero points are inputs, not attributes.
inline bool is_dynamic(op_kind op) {
    return op != op_kind::Quantize && op != op_kind::Dequantize;
}

} // namespace dqbench

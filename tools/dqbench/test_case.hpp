// A test case: everything that decides what runs, and that a result line's __REPRO prints.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "dynquant/quantization.hpp"
#include "layout.hpp"
#include "oneapi/dnnl/dnnl_graph.hpp"
#include "problem.hpp"

namespace dqbench {

enum class op_kind { DynamicQuantize, DynamicDequantize, Quantize, Dequantize };
using dnnl::graph::fpmath_mode;
using dynquant::data_type;

struct data_types {
    data_type src, scales;
    std::optional<data_type> zps;
    data_type dst;
    bool zps_are_s64 = false; // the attribute of Quantize and Dequantize; zps is s32, the range that they may have

    bool operator==(const data_types &) const = default;
};

enum class granularity { per_tensor, per_channel, per_group };

/// How scales and zero points are drawn; parameters.hpp has the values.
enum class parameter_kind { usual, pow2, wild, nvfp4 };

/// How src is drawn for a check: around ties, with special values; or normally distributed, as in networks.
enum class data_kind { ties, normal };

/// automatic: the library chooses.
enum class kernel_choice { automatic, native, onednn, reference };

/// The rounding: oneDNN's, under the fpmath mode, or dynquant::numerics::onnx.
enum class rule_kind { onednn, onnx };

enum class api_kind { graph, direct };

/// Whether a sample finds the buffers in the caches as the one before left them, or in memory only.
enum class cache_state { warm, cold };

enum class peer_kind { flat, onednn_graph, onednn_reorder, xnnpack };

/// Whether a peer computes the statement; flat moves its bytes.
inline bool computes(peer_kind kind) {
    return kind != peer_kind::flat;
}

enum class run_mode {
    list,
    initialization, // compiles and runs nothing
    run,
    correctness,
    bitwise, // two runs must give the same bits
    performance,
    correctness_and_performance,
    fast
};

/// benchdnn's --impl and --skip-impl: which implementations may run, by parts of their names, as in native:avx2.
struct implementation_filter {
    bool skips = false; // the names are of those that may not run
    std::vector<std::string> names = {};

    bool operator==(const implementation_filter &) const = default;
};

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
    int threads = 0;                       // 0: all of the machine
    api_kind api = api_kind::graph;
    cache_state cache = cache_state::warm;
    std::vector<peer_kind> peers = {};
    measuring limits = {};

    // What to run.
    implementation_filter implementations = {};
    op_kind op = op_kind::DynamicQuantize;
    data_types types = {data_type::f32, data_type::f32, {}, data_type::s8};
    fpmath_mode fpmath = fpmath_mode::strict;
    rule_kind rule = rule_kind::onednn;
    dynquant::precision division = dynquant::precision::f32; // under rule_kind::onnx
    bool saturate = false;                                   // under rule_kind::onnx
    data_kind data = data_kind::ties;
    parameter_kind parameters = parameter_kind::usual;
    std::vector<float> scales = {};                    // repeated cyclically; empty: drawn
    std::optional<float> global_scale = {};            // of DynamicDequantize under rule_kind::onnx
    std::optional<dynquant::scale_rule> computed = {}; // the rule by which each run computes scales and zero points
    std::vector<std::int32_t> zps = {};                // repeated cyclically; empty: drawn
    layout src_layout = {}, dst_layout = {};
    granularity qtype = granularity::per_tensor;
    std::int64_t axis = 1;                   // for per_channel only
    dynquant::dims group = {32};             // for per_group only; extents of the last dims, 1 for those before
    std::optional<std::int64_t> offset = {}; // elements after a multiple of 64 bytes; none: workspace's default
    problem prb = {};

    bool operator==(const test_case &) const = default;
};

inline bool quantizes(op_kind op) {
    return op != op_kind::DynamicDequantize && op != op_kind::Dequantize;
}

/// Whether scales and zero points are inputs, not attributes.
inline bool is_dynamic(op_kind op) {
    return op != op_kind::Quantize && op != op_kind::Dequantize;
}

} // namespace dqbench

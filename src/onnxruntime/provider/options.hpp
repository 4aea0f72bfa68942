// What a session asks of the execution provider: the options ep.<name>.<key> of its session.
#pragma once

#include <onnxruntime_c_api.h>

#include <cstdint>
#include <string>

namespace dynquant::onnxruntime {

inline constexpr const char *provider_name = "DynquantExecutionProvider";

/// automatic: what is measured to be faster here.
enum class claim_policy { automatic, all, none };

/// What a layer quantizes x by: one scale and zero point, or one for each row.
enum class activation_scales { per_tensor, per_row };

/// Layers whose weights alone are quantized. automatic: x is float or int8 as ONNX Runtime has it; int8_x: it is int8
/// wherever it may be, and no node says that it is float.
enum class weight_only_policy { off, automatic, int8_x };

/// What ONNX Runtime's optimizer makes of DequantizeLinear and MatMul, by entries of the session.
struct matmul_nbits_entries {
    bool are_made = true;
    bool quantize_x = true; // their accuracy level is 4
    /// Rows of weights whose scales are none of blocks, that share a copy of them. 0: 32; -1: as many as leave the
    /// fewest rows empty.
    std::int64_t block = 0;
};

struct options {
    claim_policy claim = claim_policy::automatic;
    activation_scales scales = activation_scales::per_tensor;
    weight_only_policy weight_only = weight_only_policy::automatic;
    matmul_nbits_entries matmul_nbits = {};
    int threads = 0;             // of the session's that work on a claimed node at most; 0: all
    bool verbose = false;        // log each node that is claimed, and why others are not
    int ort_version = 0;         // of the ONNX Runtime that asks: 12302 for "1.23.2"
    std::string leaves_all = {}; // ONNX Runtime's own entry under which it fails if nodes are fused
};

/// Throws error for an unknown key or value.
options read_options(const OrtApi &api, const OrtSessionOptions &session, int ort_version);

} // namespace dynquant::onnxruntime

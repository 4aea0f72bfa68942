// What a session asks of the execution provider: the options ep.<name>.<key> of its session.
#pragma once

#include <onnxruntime_c_api.h>

#include <string>

namespace dynquant::onnxruntime {

inline constexpr const char *provider_name = "DynquantExecutionProvider";

/// automatic: what is measured to be faster here.
enum class claim_policy { automatic, all, none };

/// What a layer quantizes x by: one scale and zero point, or one for each row.
enum class activation_scales { per_tensor, per_row };

struct options {
    claim_policy claim = claim_policy::automatic;
    activation_scales scales = activation_scales::per_tensor;
    bool claims_weight_only = true; // layers whose weights alone are quantized, that ONNX Runtime does not fuse
    int threads = 0;                // of the session's that work on a claimed node at most; 0: all
    bool verbose = false;           // log each node that is claimed, and why others are not
    int ort_version = 0;            // of the ONNX Runtime that asks: 12302 for "1.23.2"
    std::string leaves_all = {};    // ONNX Runtime's own entry under which it fails if nodes are fused
};

/// Throws error for an unknown key or value.
options read_options(const OrtApi &api, const OrtSessionOptions &session, int ort_version);

} // namespace dynquant::onnxruntime

// Which nodes are claimed by themselves: those that quantize or dequantize, and products without steps.
#pragma once

#include "layers/match/matcher.hpp"
#include "onnxruntime/provider/read_graph.hpp"

namespace dynquant::onnxruntime {

/// ONNX Runtime runs nodes whose results nobody takes, but gives a fused node no such output.
bool is_used(const value &v);

/// QuantizeLinear, DequantizeLinear or DynamicQuantizeLinear.
bool is_quantization(const node &n);

/// Why ONNX Runtime keeps a node that quantizes, "" where it is claimed: "ONNX Runtime may fuse it with 'c' (Conv)".
/// Providers claim nodes before ONNX Runtime fuses those that are left. is_claimed: for each node. claims_all: also the
/// nodes for which ONNX Runtime has fast kernels.
std::string reason_to_leave(const graph &g, const node &n, const std::vector<bool> &is_claimed, bool claims_all);

/// Why ONNX Runtime keeps a product without any step, "" where it is claimed: it is as fast there. claims_all: none is
/// kept.
std::string reason_to_leave_product(const graph &g, const node &n, bool claims_all);

/// Why ONNX Runtime keeps a narrow layer, "" where it is claimed: "ONNX Runtime makes MatMulNBits of it". claims_all:
/// also those that are as fast there.
std::string reason_to_leave_narrow(const graph &g, const layers::match::layer_match &m, bool claims_all);

} // namespace dynquant::onnxruntime

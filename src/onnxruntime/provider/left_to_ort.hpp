// Why nodes are left to ONNX Runtime: what it fuses itself (ort_fusions.cpp), and what is as fast there (measured.cpp).
#pragma once

#include "layers/match/matcher.hpp"
#include "onnxruntime/provider/options.hpp"
#include "onnxruntime/provider/read_graph.hpp"

namespace dynquant::onnxruntime {

// Each says why, of a node that quantizes, of ConvInteger or MatMulInteger without any step, or of a weight-only layer.
// "": nothing is against it.

/// "ONNX Runtime may fuse it with 'c' (Conv)": its optimizer runs after providers have claimed nodes. is_claimed: for
/// each node.
std::string fused_by_ort(const graph &g, const node &n, const std::vector<bool> &is_claimed);
std::string fused_by_ort(const graph &g, const layers::match::layer_match &m);

/// How ONNX Runtime computes a weight-only layer by a kernel of MatMulNBits: of such a node, or of the one that its
/// optimizer makes.
struct matmul_nbits_in_ort {
    std::int64_t block = 0; // 0: it has no such kernel, and dequantizes the weights in each run
    bool quantizes_x = false;
};
matmul_nbits_in_ort matmul_nbits_in_ort_of(const graph &g, const layers::match::layer_match &m, const options &o);

/// Whether weights of a weight-only layer, their scales or zero points stand in an outer graph. ONNX Runtime's fusion
/// to MatMulNBits fails then, or computes without the zero points: 1.23.2 to 1.32.0.
bool has_outer_weights(const graph &g, const layers::match::layer_match &m);

/// "ONNX Runtime has a fast kernel for it".
std::string fast_in_ort_quantization(const graph &g, const node &n);
std::string fast_in_ort_product(const graph &g, const node &n);
std::string fast_in_ort_weight_only(
        const graph &g, const layers::match::layer_match &m, const matmul_nbits_in_ort &there);

/// The types on the two sides of QuantizeLinear or DequantizeLinear.
struct sides {
    onnx::element_type real, quantized, scale;
};
sides sides_of(const graph &g, const node &n);

} // namespace dynquant::onnxruntime

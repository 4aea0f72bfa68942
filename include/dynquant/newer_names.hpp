// newer: names of oneDNN up to 3.14 that installed headers may lack. own: names that oneDNN does not have. Enumerations
// cannot be extended, so these are constants; those of newer have oneDNN's values.
//
//     dg::logical_tensor keys(0, dg::newer::s4, {1, 8, 1024, 128}, dg::logical_tensor::layout_type::strided);
//     op.set_attr(dg::newer::group_shape, std::vector<std::int64_t> {1, 1, 1, 32});
#pragma once

#include "oneapi/dnnl/dnnl_graph.hpp"
#include "oneapi/dnnl/dnnl_version.h"

namespace dynquant::graph::newer {

inline constexpr auto f8_e5m2 = static_cast<dnnl::graph::logical_tensor::data_type>(9);
inline constexpr auto f8_e4m3 = static_cast<dnnl::graph::logical_tensor::data_type>(10);
inline constexpr auto s4 = static_cast<dnnl::graph::logical_tensor::data_type>(11);
inline constexpr auto u4 = static_cast<dnnl::graph::logical_tensor::data_type>(12);
/// oneDNN's primitives have these two types, its graphs do not: for computed scales only. e8m0: dynquant's f8_e8m0.
inline constexpr auto e8m0 = static_cast<dnnl::graph::logical_tensor::data_type>(13);
inline constexpr auto f4_e2m1 = static_cast<dnnl::graph::logical_tensor::data_type>(14);

/// How many consecutive elements along each dim of src share a scale and a zero point, for qtype per_group and beside
/// mask: a list of s64.
inline constexpr auto group_shape = static_cast<dnnl::graph::op::attr>(0x4e);
/// Along which dims of src scales and zero points vary: an s64 whose bit d stands for dim d.
inline constexpr auto mask = static_cast<dnnl::graph::op::attr>(0x33);

#if DNNL_VERSION_MAJOR > 3 || DNNL_VERSION_MINOR >= 7
static_assert(f8_e5m2 == dnnl::graph::logical_tensor::data_type::f8_e5m2);
static_assert(f8_e4m3 == dnnl::graph::logical_tensor::data_type::f8_e4m3);
static_assert(s4 == dnnl::graph::logical_tensor::data_type::s4);
static_assert(u4 == dnnl::graph::logical_tensor::data_type::u4);
static_assert(group_shape == dnnl::graph::op::attr::group_shape);
#endif
#if DNNL_VERSION_MAJOR > 3 || DNNL_VERSION_MINOR >= 14
static_assert(mask == dnnl::graph::op::attr::mask);
#endif

} // namespace dynquant::graph::newer

/// Attributes of a DynamicQuantize that computes its scales. The first one makes it one: src is then an input, dst,
/// scales and perhaps zps are outputs. The others change single choices of the rule; see dynquant::scale_rule.
/// oneDNN's numbers of 3.14 are below 0x90, those of its internals from 0x100 on.
namespace dynquant::graph::own {

/// A string. absmax or minmax, the default rule of that range; or a preset: onnx, onednn_dynamic_quantize,
/// onednn_dynamic_fp, mx_floor, mx_ceil, mx_even, mx_rceil, nvfp4, torchao_symmetric, torchao_asymmetric, ggml_q8_0,
/// vllm.
inline constexpr auto scale_rule = static_cast<dnnl::graph::op::attr>(0xe0);
inline constexpr auto narrow = static_cast<dnnl::graph::op::attr>(0xe1);    // bool
inline constexpr auto least = static_cast<dnnl::graph::op::attr>(0xe2);     // f32
inline constexpr auto of_zero = static_cast<dnnl::graph::op::attr>(0xe3);   // f32
inline constexpr auto quotient = static_cast<dnnl::graph::op::attr>(0xe4);  // string, a name of scale_quotient
inline constexpr auto nonfinite = static_cast<dnnl::graph::op::attr>(0xe5); // string, a name of dynquant::nonfinite
/// A bool, true if not set: what is beyond the largest number of a float dst becomes that number.
inline constexpr auto saturate = static_cast<dnnl::graph::op::attr>(0xe6);

} // namespace dynquant::graph::own

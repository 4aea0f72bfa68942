// Names of oneDNN up to 3.14 that installed headers may lack. Enumerations cannot be extended, so these are constants
// with oneDNN's values.
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

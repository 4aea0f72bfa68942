// States one quantization op in the terms of its specification, and runs it through the graph API.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "dynquant/graph.hpp"
#include "variants.hpp"

namespace dynquant::test {

namespace dg = dynquant::graph;

using integer_type = dg::logical_tensor::data_type;

/// An op and its tensors. Integers of all types are widened. Elements are in row-major order of the index, whatever the
/// strides.
struct single_op {
    dg::op::kind kind;
    dims shape;
    integer_type integer = integer_type::s8; // of dst, or of src when dequantizing
    std::vector<float> scales;
    std::optional<std::vector<std::int64_t>> zps = {};
    integer_type zps_type = integer_type::s32; // the dynamic ops only

    std::optional<std::string> qtype = {};
    std::optional<std::int64_t> axis = {};
    dg::fpmath_mode fpmath = dg::fpmath_mode::strict;

    dims src_strides = {}, dst_strides = {}; // empty: row-major
    bool dst_layout_any = false;
    bool dst_dims_unknown = false; // rank known
    bool dst_rank_unknown = false;
    bool unknown_until_compile = false; // every port, when the op is added

    bool quantizes() const { return kind == dg::op::kind::DynamicQuantize || kind == dg::op::kind::Quantize; }
    bool dynamic() const { return kind == dg::op::kind::DynamicQuantize || kind == dg::op::kind::DynamicDequantize; }

    /// Ids of the graph's logical tensors.
    enum id : std::size_t { src, scales_port, zps_port, dst };

    /// Logical tensors that compile is given.
    std::vector<dg::logical_tensor> inputs() const;
    dg::logical_tensor output() const;

    /// Builds a graph of this op and compiles its partition by the given kernel.
    dg::compiled_partition compile(const variant &v) const;

    /// Runs it on integers or on floats. Throws std::logic_error when a byte between the elements of dst
    /// is written.
    std::vector<int> quantize(const variant &v, const std::vector<float> &values) const;
    std::vector<float> dequantize(const variant &v, const std::vector<int> &values) const;
};

const dg::engine &cpu();

} // namespace dynquant::test

#include "graph_program.hpp"

#include "quantization/onednn_type.hpp"
#include "quantization/text.hpp"
#include "text_parsing.hpp"

namespace dqbench {
namespace {

using layout_type = logical_tensor::layout_type;

logical_tensor::data_type graph_type(data_type type) {
    const auto known = dynquant::onednn_type(type);
    if (known == dnnl_data_type_undef)
        throw usage_error(dynquant::concat("--dt: expected types of oneDNN Graph, given ", dynquant::to_string(type)));
    return static_cast<logical_tensor::data_type>(known);
}

} // namespace

const dnnl::engine &cpu() {
    static const dnnl::engine instance(dnnl::engine::kind::cpu, 0);
    return instance;
}

ports::ports(const statement &s) {
    enum id : std::size_t { src_id, scales_id, zps_id, dst_id };
    const auto one_each = s.parameter_dims();
    inputs.emplace_back(src_id, graph_type(s.types.src), s.extents, s.src_strides);
    if (s.dynamic) {
        inputs.emplace_back(scales_id, graph_type(s.types.scales), one_each, layout_type::strided);
        if (s.types.zps) inputs.emplace_back(zps_id, graph_type(*s.types.zps), one_each, layout_type::strided);
    }
    const auto type = graph_type(s.types.dst);
    dst = s.dst_strides ? logical_tensor(dst_id, type, s.extents, *s.dst_strides)
                        : logical_tensor(dst_id, type, s.extents, layout_type::any);
}

dnnl::graph::op::kind kind_of(const statement &s) {
    using kind = dnnl::graph::op::kind;
    if (s.quantizing) return s.dynamic ? kind::DynamicQuantize : kind::Quantize;
    return s.dynamic ? kind::DynamicDequantize : kind::Dequantize;
}

} // namespace dqbench

#include "kernels/onednn/lowering.hpp"

#include "quantization/onednn_type.hpp"

namespace dynquant::kernels::onednn {
namespace {

dnnl::memory::desc descriptor(const std::vector<axis> &axes, std::int64_t axis::*stride, data_type type) {
    dnnl::memory::dims extents, strides;
    for (const auto &a : axes) {
        extents.push_back(a.extent);
        strides.push_back(a.*stride);
    }
    return dnnl::memory::desc(extents, static_cast<dnnl::memory::data_type>(onednn_type(type)), strides);
}

} // namespace

std::vector<axis> axes_of(const canonical_form &form) {
    std::vector<axis> axes(form.loops, form.loops + form.loop_count);
    axes.push_back(form.row);
    return axes;
}

int parameter_mask(const std::vector<axis> &axes) {
    int mask = 0;
    for (std::size_t i = 0; i < axes.size(); ++i)
        if (axes[i].parameter_stride != 0) mask |= 1 << i;
    return mask;
}

dnnl::reorder::primitive_desc lower(const quantization &q, const canonical_form &form, const dnnl::engine &engine) {
    const auto axes = axes_of(form);
    const auto argument = parameter_argument(q);
    dnnl::primitive_attr attributes;
    attributes.set_scales_mask(argument, parameter_mask(axes));
    if (q.zero_points) attributes.set_zero_points_mask(argument, 0);
    // A primitive that owns its scratchpad cannot run concurrently.
    attributes.set_scratchpad_mode(dnnl::scratchpad_mode::user);
    return {engine, descriptor(axes, &axis::src_stride, q.src.type), engine,
            descriptor(axes, &axis::dst_stride, q.dst.type), attributes};
}

} // namespace dynquant::kernels::onednn

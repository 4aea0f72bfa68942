#include "quantization/canonical.hpp"

#include <algorithm>

#include "quantization/shape.hpp"

namespace dynquant {
namespace {

std::optional<std::vector<axis>> split_by_blocks(const quantization &q) {
    const auto &extents = q.src.dims, &block = q.scales.block;
    const auto src = strides_of(q.src), dst = strides_of(q.dst);
    const auto parameter = row_major(parameter_dims(extents, block));
    std::vector<axis> axes;
    for (std::size_t d = 0; d < extents.size(); ++d) {
        const auto size = std::min(block[d], extents[d]);
        if (size > 0 && extents[d] % size != 0) return std::nullopt;
        const auto count = size > 0 ? extents[d] / size : 0;
        axes.push_back({count, size * src[d], size * dst[d], parameter[d]});
        axes.push_back({size, src[d], dst[d], 0});
    }
    return axes;
}

/// Whether `outer` continues where `inner` ends, in every buffer.
bool continues(const axis &outer, const axis &inner) {
    return outer.src_stride == inner.extent * inner.src_stride && outer.dst_stride == inner.extent * inner.dst_stride
            && outer.parameter_stride == inner.extent * inner.parameter_stride;
}

} // namespace

std::optional<canonical_form> canonicalize(const quantization &q) {
    canonical_form form;
    if (volume(q.src.dims) == 0) { // the other dims and the strides may be anything
        form.row.extent = 0;
        return form;
    }
    auto axes = split_by_blocks(q);
    if (!axes) return std::nullopt;
    axes->erase(std::remove_if(axes->begin(), axes->end(), [](const axis &a) { return a.extent == 1; }), axes->end());
    std::stable_sort(
            axes->begin(), axes->end(), [](const axis &a, const axis &b) { return a.dst_stride > b.dst_stride; });

    std::vector<axis> merged;
    for (const auto &inner : *axes) {
        if (!merged.empty() && continues(merged.back(), inner)) {
            const auto extent = merged.back().extent * inner.extent;
            merged.back() = inner;
            merged.back().extent = extent;
        } else {
            merged.push_back(inner);
        }
    }

    if (merged.empty()) return form;
    form.row = merged.back();
    form.loop_count = static_cast<int>(merged.size()) - 1;
    std::copy(merged.begin(), merged.end() - 1, form.loops);
    return form;
}

} // namespace dynquant

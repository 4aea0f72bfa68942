#include "quantization/canonical.hpp"

#include <algorithm>

#include "quantization/shape.hpp"

namespace dynquant {
namespace {

/// A rectangle of the tensors in which all blocks have one size along each dim. A dim has two axes: its blocks, and the
/// elements of a block.
struct region {
    offsets begin;
    std::vector<axis> axes;
};

/// Consecutive blocks of one size along a dim, from block `first` on, which begins at element `begin`.
struct blocks {
    std::int64_t first, begin, count, size;
};

/// The whole blocks of a dim, and the shorter last one if there is one.
std::vector<blocks> blocks_of(std::int64_t extent, std::int64_t block) {
    const auto size = std::min(block, extent), whole = extent / size, rest = extent % size;
    if (rest == 0) return {{0, 0, whole, size}};
    return {{0, 0, whole, size}, {whole, whole * size, 1, rest}};
}

std::vector<region> split_by_blocks(const quantization &q) {
    const auto &extents = q.src.dims, &block = q.scales.block;
    const auto src = strides_of(q.src), dst = strides_of(q.dst);
    const auto parameter = row_major(parameter_dims(extents, block));
    std::vector<region> all = {{}};
    for (std::size_t d = 0; d < extents.size(); ++d) {
        std::vector<region> extended;
        for (const auto &b : blocks_of(extents[d], block[d]))
            for (region r : all) {
                r.begin.src += b.begin * src[d];
                r.begin.dst += b.begin * dst[d];
                r.begin.parameter += b.first * parameter[d];
                r.axes.push_back({b.count, b.size * src[d], b.size * dst[d], parameter[d]});
                r.axes.push_back({b.size, src[d], dst[d], 0});
                extended.push_back(std::move(r));
            }
        all = std::move(extended);
    }
    return all;
}

/// Whether `outer` continues where `inner` ends, in every buffer.
bool continues(const axis &outer, const axis &inner) {
    return outer.src_stride == inner.extent * inner.src_stride && outer.dst_stride == inner.extent * inner.dst_stride
            && outer.parameter_stride == inner.extent * inner.parameter_stride;
}

canonical_form make_form(region r) {
    auto &axes = r.axes;
    axes.erase(std::remove_if(axes.begin(), axes.end(), [](const axis &a) { return a.extent == 1; }), axes.end());
    std::stable_sort(
            axes.begin(), axes.end(), [](const axis &a, const axis &b) { return a.dst_stride > b.dst_stride; });

    std::vector<axis> merged;
    for (const auto &inner : axes) {
        if (!merged.empty() && continues(merged.back(), inner)) {
            const auto extent = merged.back().extent * inner.extent;
            merged.back() = inner;
            merged.back().extent = extent;
        } else {
            merged.push_back(inner);
        }
    }

    canonical_form form;
    form.begin = r.begin;
    if (merged.empty()) return form;
    form.row = merged.back();
    form.loop_count = static_cast<int>(merged.size()) - 1;
    std::copy(merged.begin(), merged.end() - 1, form.loops);
    return form;
}

} // namespace

std::vector<canonical_form> canonicalize(const quantization &q) {
    std::vector<canonical_form> forms;
    if (volume(q.src.dims) == 0) { // the other dims and the strides are unchecked
        forms.emplace_back().row.extent = 0;
        return forms;
    }
    for (auto &r : split_by_blocks(q))
        forms.push_back(make_form(std::move(r)));
    return forms;
}

} // namespace dynquant

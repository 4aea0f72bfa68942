#include "kernels/native/scales/boxes.hpp"

#include <algorithm>

#include "elements/table.hpp"
#include "kernels/native/scales/box_parameters.hpp"
#include "quantization/shape.hpp"
#include "targets/caches.hpp"

namespace dynquant::kernels::native {
namespace {

/// A box grows at least to this size.
constexpr std::int64_t min_box_bytes = 128 << 10;
/// Larger boxes read memory faster, but a tensor keeps this many of them, which divide evenly among threads.
constexpr std::int64_t boxes_of_large_tensor = 256;
/// Rows of a box are at least this long, if the tensor's are: shorter ones waste cache lines and prefetches.
constexpr std::int64_t min_row_bytes = 1024;

/// A box is read again from the second-level cache.
std::int64_t second_level_cache() {
    static const std::int64_t bytes = [] {
        constexpr std::int64_t usual = 1 << 20;
        const auto cache = targets::second_level_cache();
        return cache > 0 ? cache : usual;
    }();
    return bytes;
}

std::int64_t src_bytes(const quantization &q, const dims &box) {
    return *volume(box) * traits(q.src.type).bits / 8;
}

/// Bytes of the consecutive elements of src in a box.
std::int64_t row_bytes(const quantization &q, const dims &box) {
    const auto strides = strides_of(q.src);
    std::int64_t length = 1;
    for (std::size_t i = 0; i < box.size(); ++i)
        for (std::size_t d = 0; d < box.size(); ++d)
            if (strides[d] == length && box[d] > 1) {
                length *= box[d];
                break;
            }
    return length * traits(q.src.type).bits / 8;
}

/// Grows a block from the innermost dim on while its bytes are within a limit, which may depend on the box.
template <typename Limit>
dims grown(const quantization &q, const Limit &limit) {
    const auto counts = parameter_dims(q.src.dims, q.scales.block);
    auto box = q.scales.block;
    std::int64_t parameters = 1;
    for (std::size_t d = box.size(); d-- > 0;) {
        const auto fitting = std::min(box_capacity / parameters, limit(box) / src_bytes(q, box));
        const auto blocks = counts[d] <= fitting ? counts[d] : evened(fitting);
        box[d] = std::min(box[d] * blocks, q.src.dims[d]);
        parameters *= blocks;
        if (blocks < counts[d]) break;
    }
    return box;
}

} // namespace

std::int64_t evened(std::int64_t blocks) {
    return blocks >= 4 ? blocks / 4 * 4 : blocks >= 2 ? 2 : 1;
}

tiling cut(const quantization &q) {
    const auto cache = second_level_cache(), most = cache / 4 * 3; // that one thread computes alone
    const auto large = std::max(min_box_bytes, cache / 2), of_short_rows = std::max(min_box_bytes, most / 2);
    const auto usual = std::clamp(src_bytes(q, q.src.dims) / boxes_of_large_tensor, min_box_bytes, large);
    const auto alone =
            grown(q, [&](const dims &box) { return row_bytes(q, box) < min_row_bytes ? of_short_rows : usual; });
    if (src_bytes(q, alone) <= most && row_bytes(q, alone) >= std::min(min_row_bytes, row_bytes(q, q.src.dims)))
        return {alone, false};
    return {grown(q, [](const dims &) { return INT64_MAX; }), true};
}

std::int64_t step_of_beginnings(const quantization &q, const dims &box) {
    const auto dst = strides_of(q.dst);
    auto step = elements_of_whole_bytes(traits(q.dst.type).bits);
    for (std::size_t d = 0; d < box.size(); ++d)
        if (box[d] < q.src.dims[d]) step = std::gcd(step, box[d] * dst[d]);
    return step;
}

bool share_bytes(const quantization &q, const dims &box) {
    const auto bits = traits(q.dst.type).bits;
    if (bits >= 8) return false;
    if (q.zero_points) {
        const auto parameter = row_major(parameter_dims(q.src.dims, q.scales.block));
        for (std::size_t d = 0; d < box.size(); ++d)
            if (box[d] < q.src.dims[d] && box[d] / q.scales.block[d] * parameter[d] * bits % 8 != 0) return true;
    }
    if (q.computed->scales_only) return false;
    const auto dst = strides_of(q.dst);
    if (dst != row_major(q.src.dims) || step_of_beginnings(q, box) != elements_of_whole_bytes(bits)) return true;
    bool is_cut = false; // behind d: a box then has rows that neither begin nor end with it
    for (std::size_t d = box.size(); d-- > 0; is_cut = is_cut || box[d] < q.src.dims[d])
        if (is_cut && box[d] > 1 && dst[d] * bits % 8 != 0) return true;
    return false;
}

} // namespace dynquant::kernels::native

#include "kernels/native/scales/groups.hpp"

#include <algorithm>

#include "elements/table.hpp"
#include "quantization/shape.hpp"

namespace dynquant::kernels::native {
namespace {

/// A box of src, if groups are short: two boxes fit in the first-level cache.
constexpr std::int64_t usual_bytes = 8 << 10;
/// A box of long groups in the caches: reading it twice from the second level costs less than parameters one by one.
constexpr std::int64_t bytes_of_long = 64 << 10;
/// No group is longer.
constexpr std::int64_t max_bytes = 32 << 10;
/// Ranges are found for this many groups at once, the lanes of 16 bits.
constexpr std::int64_t range_lanes = 32;
/// Codes narrower than a byte that a box has at most: they fit on the stack.
constexpr std::int64_t max_codes = 8 << 10;
/// Shorter rows are not streamed: their ends cost more.
constexpr std::int64_t min_length_to_stream = 256;
/// Longer groups are rows: loading parameters for each row costs less than for each step.
constexpr std::int64_t min_length_of_rows = 512;

bool reshape(quantization &q) {
    const auto &dims = q.src.dims, &block = q.scales.block;
    if (strides_of(q.src) != row_major(dims) || strides_of(q.dst) != row_major(dims)) return false;
    std::size_t d = 0;
    while (d < dims.size() && block[d] == 1)
        ++d;
    if (d == dims.size() || dims[d] % block[d] != 0) return false;
    for (auto inner = d + 1; inner < dims.size(); ++inner)
        if (block[inner] != dims[inner]) return false;
    const auto length = *volume(block), groups = *volume(dims) / length;
    q.src = {q.src.type, {groups, length}, {}};
    q.dst = {q.dst.type, {groups, length}, {}};
    q.scales.block = {1, length};
    if (q.zero_points) q.zero_points->block = q.scales.block;
    return true;
}

std::int64_t groups_together(std::int64_t bytes_of_group, std::int64_t length, bool in_caches, bool packed) {
    const bool is_long = bytes_of_group >= usual_bytes / 4;
    auto together = (is_long && in_caches ? bytes_of_long : usual_bytes) / bytes_of_group;
    if (packed) together = std::clamp(together, std::int64_t {2}, max_codes / length);
    together = together >= range_lanes ? together / range_lanes * range_lanes : evened(together);
    return std::min(together, group_capacity);
}

} // namespace

groups::groups(const quantization &q, const parameter_formulas &formulas, const kernel_loops &loops, bool streams)
    : formulas_(formulas)
    , add_rows_(loops.ranges[traits(q.src.type).bits == 16].add_rows[q.computed->range == scale_range::absmax])
    , encoding_((q.saturate ? loops.code.saturating_encodings : loops.code.encodings)[q.dst.type])
    , count_(q.src.dims[0])
    , length_(q.src.dims[1])
    , src_bytes_(traits(q.src.type).bits / 8)
    , dst_bits_(traits(q.dst.type).bits)
    , streams_(streams)
    , integral_(traits(q.dst.type).integral) {
    const auto bytes = length_ * src_bytes_;
    const bool divides = q.computed->quotient == scale_quotient::divide, packed = dst_bits_ < 8;
    if (bytes > max_bytes || (packed && 2 * length_ > max_codes)) return;
    if (!integral_ && divides) return;
    together_ = groups_together(bytes, length_, !streams, packed);
    // In the caches, the next box is brought to the first level while this one is quantized.
    ahead_ = streams || together_ * bytes > usual_bytes ? prefetch_distance : together_ * bytes;
    if (packed) pack_ = (integral_ ? loops.code.write : loops.code.write_bytes)[q.dst.type];
    const auto formula = !integral_         ? group_formula::codes
            : !traits(q.dst.type).is_signed ? group_formula::sum_u8
            : q.zero_points                 ? group_formula::sum_s8
            : divides                       ? group_formula::quotient_s8
                                            : group_formula::product_s8;
    const auto src = q.src.type == data_type::f32 ? 0 : q.src.type == data_type::f16 ? 1 : 2;
    const auto &of = loops.groups[src][static_cast<int>(formula)];
    const bool by_64s = length_ % 64 == 0 && (length_ < min_length_of_rows || !integral_);
    by_rows_ = length_ != 16 && length_ != 32 && !by_64s;
    codes_ = length_ == 16 ? of.of_16 : length_ == 32 ? of.of_32 : by_64s ? of.of_64s : of.of_any;
}

std::optional<groups> groups::of(
        quantization &q, const parameter_formulas &formulas, const kernel_loops &loops, bool streams) {
    if (!reshape(q)) return {};
    const groups found(q, formulas, loops, streams);
    return found.codes_ ? std::optional(found) : std::nullopt;
}

bool groups::compute(const arguments &args, std::int64_t number) const {
    ranges<group_capacity> r;
    group_arrays p;
    const auto &rule = formulas_.formula().rule;
    const auto first = number * together_, count = std::min(together_, count_ - first);
    const auto element = first * length_, elements = count * length_;
    const auto *const src = static_cast<const std::byte *>(args.src) + element * src_bytes_;
    formulas_.make_empty(count, r.low, r.high);
    add_rows_({count, length_, src, length_, nullptr, 0, false}, 1, r.low, r.high);
    formulas_.widen(count, r.low, r.high);
    if (rule.special == nonfinite::skip && parameter_formulas::has_nonfinite(count, r.low, r.high)) return false;
    const auto found = formulas_.compute(args, first, count, r, p);
    if (rule.scales_only) return true;
    if (!found.are_regular || !found.are_bounded) return false;
    alignas(64) std::byte codes[max_codes + 4 * widest_step];
    void *const dst = pack_ ? codes : static_cast<std::byte *>(args.dst) + element * dst_bits_ / 8;
    const bool begins_line = reinterpret_cast<std::uintptr_t>(dst) % 64 == 0;
    const bool stream = streams_ && !pack_ && (by_rows_ ? length_ >= min_length_to_stream : begins_line);
    const prepared_parameters by = {{p.multiplier, p.residual, p.zero_point}, {}}; // group_parameters
    codes_({by_rows_ ? count : 1, by_rows_ ? length_ : elements, src, length_, dst, length_, stream, ahead_}, by,
            {1, {}, length_, encoding_});
    if (pack_) pack_(codes, elements, args.dst, element, false);
    return true;
}

} // namespace dynquant::kernels::native

#include "kernels/native/plan.hpp"

#include <algorithm>
#include <numeric>

#include "elements/table.hpp"
#include "kernels/native/walker.hpp"
#include "quantization/shape.hpp"
#include "quantization/strict_equivalence.hpp"

namespace dynquant::kernels::native {
namespace {

// ---- Formulas and codecs -----------------------------------------------------------------------------------

kind to_8_bits(const quantization &q, kind of_u8, kind of_s8) {
    return q.dst.type == data_type::u8 ? of_u8 : of_s8;
}

bool has_other_zero_points(const quantization &q, data_type type) {
    return q.zero_points && q.zero_points->type != type;
}

/// Whether only sums in f64 give the integers: those of rare types.
bool is_rare_sum(const quantization &q) {
    const auto &dst = traits(q.dst.type);
    if (dst.bits < 32) return q.division == precision::f64 || has_other_zero_points(q, q.dst.type);
    return q.division != precision::f32 || (!dst.is_signed && has_other_zero_points(q, q.dst.type));
}

kind rare_sum_kind(const quantization &q) {
    const auto bits = traits(q.dst.type).bits;
    if (bits == 32) return kind::sum_32;
    return bits == 16 ? kind::sum_16 : to_8_bits(q, kind::sum_u8, kind::sum_s8);
}

kind onnx_kind(const quantization &q) {
    if (is_rare_sum(q)) return rare_sum_kind(q);
    const auto bits = traits(q.dst.type).bits;
    const bool is_signed = traits(q.dst.type).is_signed;
    if (bits == 32) return is_signed ? kind::wide_s32 : kind::wide_u32;
    if (q.division == precision::f16) return bits == 16 ? kind::f16_16 : to_8_bits(q, kind::f16_u8, kind::f16_s8);
    if (q.division == precision::bf16) return bits == 16 ? kind::bf16_16 : to_8_bits(q, kind::bf16_u8, kind::bf16_s8);
    if (bits == 16) return is_signed ? kind::onnx_s16 : kind::onnx_u16;
    return to_8_bits(q, kind::onnx_u8, kind::onnx_s8);
}

kind quotient_kind(const quantization &q) {
    if (q.division == precision::f16) return kind::quotient_f16;
    if (q.division == precision::bf16) return kind::quotient_bf16;
    return q.division == precision::f64 ? kind::quotient_f64 : kind::quotient_f32;
}

/// Whether q quantizes to integers in a way that numerics::strict cannot express: it rounds the quotient before it adds
/// the zero point, or does not divide in f32.
bool rounds_before_zero_points(const quantization &q) {
    return q.rule == numerics::onnx && differs_from_strict(q);
}

kind kind_of(const quantization &q) {
    if (q.dir == direction::dequantize) {
        if (q.src.type == data_type::u32 && has_other_zero_points(q, data_type::u32)) return kind::difference_u32;
        return difference_kinds[q.src.type];
    }
    if (q.computed && q.computed->quotient != scale_quotient::divide)
        return !traits(q.dst.type).integral ? kind::product_f32 : to_8_bits(q, kind::product_u8, kind::product_s8);
    if (!traits(q.dst.type).integral) return quotient_kind(q);
    if (rounds_before_zero_points(q)) return onnx_kind(q);
    if (q.rule == numerics::any) return to_8_bits(q, kind::any_u8, kind::any_s8);
    return to_8_bits(q, kind::strict_u8, kind::strict_s8);
}

/// The limit of quotients to floats: larger ones give the same dst. 0 where the two-operation quotient is not exact
/// enough: bf16 represents quotients beyond 2^22, which are infinite in f16.
float bound_of(const quantization &q, const small_float_encoding *encoding) {
    const bool in_f16 = q.division == precision::f16;
    if (q.dst.type == data_type::bf16 && !in_f16) return 0;
    const auto bound = encoding ? encoding->bound : 4194304.0F;
    return encoding && in_f16 && bound > 65504 ? 65504 : bound; // 65536 is infinite in f16; codes round 65504 to 65536
}

/// What turns src, read as f32 or s32, into numbers of the division's type. Null: it has that type.
read_function rounding_of_src(const quantization &q, const codecs &code) {
    if (q.src.type == (q.division == precision::f16 ? data_type::f16 : data_type::bf16)) return nullptr;
    return (q.src.type == data_type::s32 ? code.integers_to : code.reals_to).in[static_cast<int>(q.division)];
}

/// The sum of sums_by.
float rare_sum_of(const quantization &q) {
    int sum = q.src.type == data_type::s32 ? of_integers : 0;
    if (q.division == precision::f16) sum += in_f16;
    if (q.division == precision::bf16) sum += in_bf16;
    if (q.division == precision::f64) sum += in_f64;
    if (q.dst.type == data_type::u32)
        sum += to_u32 + (has_other_zero_points(q, data_type::u32) ? 0 : zero_points_of_u32);
    return static_cast<float>(sum);
}

/// Codecs between the types of q and those of the formulas.
staging memory_of(const quantization &q, const plan &p) {
    const auto &code = p.set->code;
    const auto &f = *p.formulas;
    staging m = {
            q.src.type, q.dst.type, traits(f.reads).bits / 8, traits(f.writes).bits / 8, nullptr, nullptr, nullptr};
    if (q.src.type != f.reads) m.read = code.read[q.src.type];
    if (q.dir == direction::quantize) m.round = rounding_of_src(q, code);
    if (q.dst.type != f.writes) m.write = (q.saturate ? code.write_saturated : code.write)[q.dst.type];
    return m;
}

// ---- Walks -------------------------------------------------------------------------------------------------

/// A transposed tile pays from this many rows on.
constexpr std::int64_t min_tile_rows = 16;

/// A periodic column of parameters pays when at least this many columns use it.
constexpr std::int64_t min_uses_of_period = 8;

/// Rows of few channels are joined to at most this many columns. 1024 would put rows 4 KiB apart, in the same
/// first-level cache sets.
constexpr std::int64_t max_joined_columns = 960;

/// Expanding the parameters of groups pays when at least this many rows share them.
constexpr std::int64_t min_rows_to_expand = 4;

/// Whether each row of the innermost loop begins at the end of the previous row.
bool continues(const canonical_form &form) {
    const auto loop = innermost_loop(form);
    return form.loop_count > 0 && loop.src_stride == form.row.extent * form.row.src_stride
            && loop.dst_stride == form.row.extent * form.row.dst_stride;
}

void join(canonical_form &form, std::int64_t parameter_stride) {
    form.row.extent *= innermost_loop(form).extent;
    form.row.parameter_stride = parameter_stride;
    --form.loop_count;
}

/// Panel width: at most `most` columns, a multiple of `unit`, and of a cache line of bytes if that fits in `most`.
std::int64_t panel_of(std::int64_t columns, std::int64_t most, std::int64_t unit) {
    const auto aligned = std::lcm(unit, widest_step);
    const auto step = aligned <= most ? aligned : unit;
    const auto largest = most / step * step, panels = ceil_div(columns, largest);
    const auto even = ceil_div(columns, std::max<std::int64_t>(panels, 1));
    return std::min(largest, round_up(even, step));
}

class walks_of {
  public:
    walks_of(plan &of, const quantization &q)
        : p(of)
        , lanes_(of.set->lanes)
        , widens_(of.memory.dst_bytes > of.memory.src_bytes)
        , transposes_src_(q.dir == direction::dequantize && traits(q.src.type).bits <= 8)
        , transposes_dst_(q.dir == direction::quantize && traits(q.dst.type).bits == 8 && traits(q.dst.type).integral) {
    }

    /// Adds the walks to the plan.
    void find(const std::vector<canonical_form> &forms) {
        for (const auto &form : forms)
            add(form);
        for (auto &w : p.walks)
            complete(w);
    }

  private:
    void add(const canonical_form &form) {
        walk w;
        w.axes = form;
        if (transposes_dst_ && find_tiles(w)) return p.walks.push_back(w);
        join_groups(w);
        if (w.axes.row.parameter_stride != 0) w.traversal = walk::order::columns;
        if (transposes_src_ && find_grouped_tiles(w)) return p.walks.push_back(w);
        if (w.traversal == walk::order::columns) join_periods(w);
        p.walks.push_back(w);
    }

    const microkernels &usual() const {
        return p.formulas->guarded.at(form::rows) ? p.formulas->guarded : p.formulas->any_parameters;
    }

    /// Joins [channels][inner] with a short inner to one row in which each parameter serves `inner` columns.
    void join_groups(walk &w) const {
        const auto &row = w.axes.row;
        const auto loop = innermost_loop(w.axes);
        if (!continues(w.axes) || row.parameter_stride != 0 || loop.parameter_stride == 0) return;
        const auto outer = next_loop(w.axes);
        const bool shared = outer.parameter_stride == 0 && outer.extent >= min_rows_to_expand;
        const std::int64_t longest = widens_ || lanes_ < 16 ? 20 : 32;
        const auto segment = find_segment(row.extent);
        if (shared && row.extent <= longest) {
            w.expands = true;
            w.microkernel_form = form::cols;
        } else if (segment != form::rows) {
            w.microkernel_form = segment;
        } else if (row.extent < 16) {
            w.expands = !usual().at(form::short_groups);
            w.microkernel_form = w.expands ? form::cols : form::short_groups;
        } else {
            return;
        }
        w.group_length = row.extent;
        join(w.axes, loop.parameter_stride);
    }

    form find_segment(std::int64_t length) const {
        const auto by = length == lanes_ ? form::segs1
                : length == 2 * lanes_   ? form::segs2
                : length == 4 * lanes_   ? form::segs4
                                         : form::rows;
        const bool to_codes = p.encoding && p.formulas->no_zero_points.at(by, access::to_codes);
        return to_codes || usual().at(by) ? by : form::rows;
    }

    /// Joins [outer][channels] with few channels to rows in which the parameters repeat. If a remainder is left, adds
    /// the walk of the others, and w becomes that of the remainder.
    void join_periods(walk &w) {
        if (w.microkernel_form == form::rows) w.microkernel_form = form::cols;
        const auto columns = w.axes.row.extent;
        const auto loop = innermost_loop(w.axes);
        const bool joins = continues(w.axes) && loop.parameter_stride == 0 && columns <= max_joined_columns / 2
                && w.microkernel_form == form::cols;
        auto times = joins ? std::min(max_joined_columns / columns, loop.extent / min_uses_of_period) : 1;
        const auto whole_lines = widest_step / std::gcd(columns, widest_step);
        if (times > whole_lines) times = times / whole_lines * whole_lines;
        if (times < 2) return;
        w.period = columns;
        const auto rest = loop.extent % times, done = loop.extent - rest;
        if (rest > 0) lengthen(p.walks.emplace_back(w).axes, loop, times, done / times);
        lengthen(w.axes, loop, rest > 0 ? rest : times, rest > 0 ? 1 : done / times);
        if (rest == 0) return;
        w.axes.begin.src += done * loop.src_stride;
        w.axes.begin.dst += done * loop.dst_stride;
    }

    static void lengthen(canonical_form &form, const axis &loop, std::int64_t times, std::int64_t count) {
        form.row.extent *= times;
        form.loops[form.loop_count - 1] = {count, loop.src_stride * times, loop.dst_stride * times, 0};
        if (count == 1) --form.loop_count;
    }

    /// Finds the panels, the pattern and the microkernels.
    void complete(walk &w) const {
        const auto columns = w.axes.row.extent;
        if (w.period > 0 && w.traversal == walk::order::columns) {
            w.panel = w.grain_columns = columns;
        } else if (w.traversal == walk::order::columns) {
            const auto prepared = w.microkernel_form == form::cols ? panel_capacity : panel_capacity * w.group_length;
            w.panel = panel_of(
                    columns, w.microkernel_form == form::short_groups ? panel_capacity : prepared, w.group_length);
            w.grain_columns = std::lcm(widest_step, w.group_length);
        }
        if (w.expands || w.microkernel_form == form::short_groups) {
            const auto count = panel_capacity + 2 * widest_step;
            for (std::int64_t i = 0; i < count; ++i) {
                const auto first = i / lanes_ * lanes_ / w.group_length;
                if (i % lanes_ == 0) w.first.push_back(static_cast<std::int32_t>(first));
                w.index.push_back(static_cast<std::int32_t>(i / w.group_length - first));
            }
        }
        resolve(p, w);
    }

    /// Whether rows of dst are narrow and contiguous, and parameters change along them only.
    static bool is_narrow(const walk &w) {
        const auto across = innermost_loop(w.axes);
        return w.axes.row.extent <= max_narrow_row && across.dst_stride == w.axes.row.extent
                && across.parameter_stride == 0 && w.group_length == 1;
    }

    /// Finds a loop along which src is dense and makes it the innermost: microkernels compute rows along it.
    static bool find_tiles(walk &w) {
        auto &axes = w.axes;
        const auto end = axes.loops + axes.loop_count;
        const auto dense = std::find_if(
                axes.loops, end, [](const axis &loop) { return loop.src_stride == 1 && loop.extent >= min_tile_rows; });
        if (dense == end || axes.row.dst_stride != 1 || axes.row.src_stride == 1) return false;
        std::rotate(dense, dense + 1, end);
        w.traversal = walk::order::transposed;
        w.microkernel_form = innermost_loop(axes).parameter_stride == 0 ? form::rows : form::cols;
        w.is_narrow = is_narrow(w);
        w.grain_rows = transposed_length;
        w.grain_columns = transposed_side;
        return true;
    }

    /// Moves the loop with this src stride inwards, in front of the last `before` loops. Returns its extent, or 1 if
    /// there is no such loop.
    static std::int64_t move_inwards(canonical_form &form, std::int64_t src_stride, int before) {
        const auto end = form.loops + form.loop_count - before;
        const auto loop = std::find_if(
                form.loops, end, [=](const axis &a) { return a.src_stride == src_stride && a.extent > 1; });
        if (loop == end) return 1;
        const auto extent = loop->extent;
        std::rotate(loop, loop + 1, end);
        return extent;
    }

    /// find_tiles() for parameters that may change along the dense dimension of src, as groups do: canonicalization
    /// splits it into two loops, which need not be adjacent.
    bool find_grouped_tiles(walk &w) const {
        if (w.axes.row.dst_stride != 1 || w.axes.row.src_stride == 1) return false;
        auto axes = w.axes;
        const auto group = move_inwards(axes, 1, 0);
        if (group == 1) return false;
        const auto groups = move_inwards(axes, group, 1);
        if (group * groups < min_tile_rows) return false;
        w.axes = axes;
        w.traversal = walk::order::transposed;
        w.is_narrow = is_narrow(w) && traits(p.memory.src).bits == 8;
        if (w.is_narrow) w.period = axes.row.extent; // rows are interleaved to one, in which the parameters repeat
        if (w.microkernel_form == form::rows && (w.is_narrow || axes.row.parameter_stride != 0))
            w.microkernel_form = form::cols;
        w.grain_rows = transposed_side;
        w.grain_columns = std::lcm(transposed_length, w.group_length);
        w.panel = w.group_length < transposed_length ? transposed_length / w.group_length * w.group_length
                                                     : transposed_length;
        return true;
    }

    plan &p;
    std::int64_t lanes_;
    bool widens_, transposes_src_, transposes_dst_;
};

} // namespace

plan plan_of(const quantization &q, const std::vector<canonical_form> &forms, const instruction_set &set) {
    plan p = {};
    p.set = &set;
    p.scales = q.scales.type;
    p.has_global_scale = q.dir == direction::dequantize && q.second_scales.has_value();
    p.has_zero_points = q.zero_points.has_value();
    p.zero_points = q.zero_points ? q.zero_points->type : data_type::s32;
    p.division = q.dir == direction::quantize ? q.division : precision::f32;
    p.formulas = &set.families[static_cast<int>(kind_of(q))];
    p.encoding = (q.saturate ? set.code.saturating_encodings : set.code.encodings)[q.dst.type];
    p.bound = p.formulas->takes_sums_by ? rare_sum_of(q) : bound_of(q, p.encoding);
    const bool is_u32 = q.src.type == data_type::u32 || q.dst.type == data_type::u32; // zero points less 2^31
    p.no_zero = is_u32 ? __builtin_bit_cast(float, INT32_MIN) : p.formulas->no_zero;
    using enum data_type;
    p.has_plain_parameters = p.scales == f32 && p.division == precision::f32 && !q.second_scales
            && !p.formulas->is_f32_zero && (p.zero_points == s32 || p.zero_points == u8 || p.zero_points == s8);
    p.memory = memory_of(q, p);
    walks_of(p, q).find(forms);
    return p;
}

} // namespace dynquant::kernels::native

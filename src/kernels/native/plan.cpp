#include "kernels/native/plan.hpp"

#include <algorithm>
#include <numeric>
#include <stdexcept>

#include "elements/table.hpp"
#include "kernels/native/walker.hpp"
#include "quantization/shape.hpp"
#include "quantization/strict_equivalence.hpp"

namespace dynquant::kernels::native {
namespace {

// ---- Formulas and codecs -----------------------------------------------------------------------------------

bool has_own_zero_points(const quantization &q, data_type type) {
    return !q.zero_points || q.zero_points->type == type;
}

/// Where strict gives the same integers as onnx, it takes fewer operations: onnx rounds the quotient before it adds the
/// zero point, and divides in other types than f32.
numerics rule_of(const quantization &q) {
    return q.rule == numerics::onnx && !differs_from_strict(q) ? numerics::strict : q.rule;
}

formula_query query_of(const quantization &q) {
    const bool quantizes = q.dir == direction::quantize;
    const auto type = quantizes ? q.dst.type : q.src.type;
    return {q.dir, type, q.computed && q.computed->quotient != scale_quotient::divide, rule_of(q),
            quantizes ? q.division : precision::f32, has_own_zero_points(q, type)};
}

bool computes(const statement_set &s, const formula_query &q) {
    const auto has = [](set_of_bits set, auto enumerator) { return (set & bit(enumerator)) != 0; };
    return s.dir == q.dir && s.multiplies == q.multiplies && has(s.types, q.quantized) && has(s.rules, q.rule)
            && has(s.divisions, q.division) && has(s.own_zero_points, q.has_own_zero_points);
}

/// The limit of quotients to floats: larger ones give the same dst.
float limit_of(const quantization &q, const small_float_encoding *encoding) {
    const auto limit = encoding ? encoding->bound : 4194304.0F;
    return encoding && q.division == precision::f16 && limit > 65504
            ? 65504
            : limit; // 65536 is infinite in f16; codes round 65504 to 65536
}

/// What turns src, read as f32 or s32, into numbers of the division's type. Null: it has that type.
read_function rounding_of_src(const quantization &q, const codecs &code) {
    if (q.src.type == (q.division == precision::f16 ? data_type::f16 : data_type::bf16)) return nullptr;
    return (q.src.type == data_type::s32 ? code.integers_to : code.reals_to).in[static_cast<int>(q.division)];
}

division_options options_of(const quantization &q) {
    const bool to_u32 = q.dst.type == data_type::u32;
    return {q.division, q.src.type == data_type::s32, to_u32, to_u32 && has_own_zero_points(q, data_type::u32)};
}

/// Codecs between the types of q and those of the formulas.
staging memory_of(const quantization &q, const plan &p) {
    const auto &code = p.loops->code;
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

/// Chunk width: at most `most` columns, a multiple of `unit` > 0, and of a cache line of bytes if that fits in `most`.
std::int64_t chunk_of(std::int64_t columns, std::int64_t most, std::int64_t unit) {
    const auto aligned = std::lcm(unit, widest_step);
    const auto step = aligned <= most ? aligned : unit;
    const auto largest = most / step * step; // NOLINT(clang-analyzer-core.DivideZero)
    const auto chunks = ceil_div(columns, largest);
    const auto even = ceil_div(columns, std::max<std::int64_t>(chunks, 1));
    return std::min(largest, round_up(even, step));
}

class walks_of {
  public:
    walks_of(plan &of, const quantization &q)
        : p(of)
        , lanes_(of.loops->lanes)
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

    /// Finds the chunks, the pattern and the microkernels.
    void complete(walk &w) const {
        const auto columns = w.axes.row.extent;
        if (w.period > 0 && w.traversal == walk::order::columns) {
            w.chunk = w.grain_columns = columns;
        } else if (w.traversal == walk::order::columns) {
            const auto prepared = w.microkernel_form == form::cols ? chunk_capacity : chunk_capacity * w.group_length;
            w.chunk = chunk_of(
                    columns, w.microkernel_form == form::short_groups ? chunk_capacity : prepared, w.group_length);
            w.grain_columns = std::lcm(widest_step, w.group_length);
        }
        if (w.expands || w.microkernel_form == form::short_groups) {
            const auto count = chunk_capacity + 2 * widest_step;
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
        w.chunk = w.group_length < transposed_length ? transposed_length / w.group_length * w.group_length
                                                     : transposed_length;
        return true;
    }

    plan &p;
    std::int64_t lanes_;
    bool widens_, transposes_src_, transposes_dst_;
};

} // namespace

const family &family_for(const kernel_loops &loops, const formula_query &q) {
    const auto *const end = loops.families + loops.family_count;
    const auto *const found =
            std::find_if(loops.families, end, [&](const family &f) { return computes(f.computes, q); });
    if (found != end) return *found;
    throw std::logic_error("the native kernel has no formula for a statement that is valid");
}

plan plan_of(const quantization &q, const std::vector<canonical_form> &forms, const kernel_loops &loops) {
    plan p = {};
    p.loops = &loops;
    p.scales = q.scales.type;
    p.has_global_scale = q.dir == direction::dequantize && q.second_scales.has_value();
    p.has_zero_points = q.zero_points.has_value();
    p.zero_points = q.zero_points ? q.zero_points->type : data_type::s32;
    p.division = q.dir == direction::quantize ? q.division : precision::f32;
    p.formulas = &family_for(loops, query_of(q));
    p.encoding = (q.saturate ? loops.code.saturating_encodings : loops.code.encodings)[q.dst.type];
    p.constants = {limit_of(q, p.encoding), options_of(q)};
    const bool is_u32 = q.src.type == data_type::u32 || q.dst.type == data_type::u32; // zero points less 2^31
    p.no_zero_point = is_u32 ? INT32_MIN : 0;
    using enum data_type;
    p.has_plain_parameters = p.scales == f32 && p.division == precision::f32 && !q.second_scales
            && !p.formulas->has_real_zero_points
            && (p.zero_points == s32 || p.zero_points == u8 || p.zero_points == s8);
    p.memory = memory_of(q, p);
    walks_of(p, q).find(forms);
    return p;
}

} // namespace dynquant::kernels::native

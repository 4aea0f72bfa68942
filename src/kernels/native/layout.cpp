#include <algorithm>
#include <iterator>

#include "kernels/native/plan.hpp"

namespace dynquant::kernels::native {
namespace {

/// Dense rows of so many elements or fewer are joined. Measured: one by one, rows of 17 take a fifth longer, and
/// rows of 28 a sixth less.
constexpr std::int64_t short_row = 20;

/// Rows joined beyond this gain nothing: a table of parameters holds no two of them.
constexpr std::int64_t longest_period = table_capacity / 2;

/// Fewer rows than this are not worth a tile.
constexpr std::int64_t shortest_tile = 16;

bool dense(const axis &row) {
    return row.src_stride == 1 && row.dst_stride == 1;
}

/// The innermost loop, if each of its rows begins where the one before ends.
const axis *continuing_loop(const canonical_form &form) {
    if (form.loop_count == 0) return nullptr;
    const axis &loop = form.loops[form.loop_count - 1], &row = form.row;
    return loop.src_stride == row.extent * row.src_stride && loop.dst_stride == row.extent * row.dst_stride ? &loop
                                                                                                            : nullptr;
}

/// The same of dense rows.
const axis *continuing_dense_loop(const canonical_form &form) {
    return dense(form.row) ? continuing_loop(form) : nullptr;
}

/// The rows of the innermost loop as one row.
void join(canonical_form &form, const axis &loop, std::int64_t parameter_stride) {
    form.row.extent *= loop.extent;
    form.row.parameter_stride = parameter_stride;
    --form.loop_count;
}

/// [channels][inner] with a short inner becomes a row in which each parameter serves `inner` columns.
void join_short_rows(layout &l, const axis *loop, std::int64_t longest) {
    if (!loop || l.form.row.parameter_stride != 0 || l.form.row.extent > longest) return;
    l.repeat = l.form.row.extent;
    join(l.form, *loop, loop->parameter_stride);
    for (std::size_t i = 0; i < std::size(l.parameter_of); ++i)
        l.parameter_of[i] = static_cast<std::int32_t>(static_cast<std::int64_t>(i) / l.repeat);
}

/// [outer][channels] with few channels becomes a row in which the parameters come again and again.
void join_short_periods(layout &l) {
    const axis *loop = continuing_dense_loop(l.form);
    const axis &row = l.form.row;
    if (!loop || loop->parameter_stride != 0 || row.parameter_stride == 0 || row.extent > longest_period) return;
    l.period = row.extent / l.repeat;
    join(l.form, *loop, row.parameter_stride);
}

/// Moves a loop along which src is dense innermost, so that tiles can be turned.
void find_tiles(layout &l) {
    auto &form = l.form;
    const auto end = form.loops + form.loop_count;
    const auto turned = std::find_if(
            form.loops, end, [](const axis &loop) { return loop.src_stride == 1 && loop.extent >= shortest_tile; });
    if (turned == end || form.row.dst_stride != 1 || form.row.src_stride == 1) return;
    std::rotate(turned, turned + 1, end);
    l.rows = layout::kind::tiled;
}

/// The loop of that stride in src becomes the one before so many innermost ones. Gives its extent, or 1 without it.
std::int64_t move_inwards(canonical_form &form, std::int64_t src_stride, int before) {
    const auto end = form.loops + form.loop_count - before;
    const auto loop =
            std::find_if(form.loops, end, [=](const axis &a) { return a.src_stride == src_stride && a.extent > 1; });
    if (loop == end) return 1;
    const auto extent = loop->extent;
    std::rotate(loop, loop + 1, end);
    return extent;
}

/// The same where parameters may change among the neighbours, as in groups along them: two loops, one after the other.
void find_grouped_tiles(layout &l) {
    if (l.form.row.dst_stride != 1 || l.form.row.src_stride == 1) return;
    auto form = l.form;
    const auto group = move_inwards(form, 1, 0);
    if (group == 1) return;
    const auto groups = move_inwards(form, group, 1);
    if (group * groups < shortest_tile) return;
    l.form = form;
    l.rows = layout::kind::tiled;
}

} // namespace

layout layout_of(const canonical_form &form) {
    layout l;
    l.form = form;
    join_short_rows(l, continuing_dense_loop(l.form), short_row);
    join_short_periods(l);
    if (!dense(l.form.row) || l.form.row.parameter_stride != 0) l.rows = layout::kind::alongside;
    find_tiles(l);
    return l;
}

layout converted_layout_of(const canonical_form &form, bool may_turn) {
    layout l;
    l.form = form;
    join_short_rows(l, continuing_loop(l.form), table_capacity / 2);
    join_short_periods(l);
    if (may_turn) find_grouped_tiles(l);
    return l;
}

} // namespace dynquant::kernels::native

// The driver: goes through a walk some rows at a time, prepares their parameters, and hands dense rows to the
// microkernels. Other strides and types are staged in tiles that fit the first-level cache. Compiled for the baseline
// instruction set.
#include <algorithm>
#include <cstring>

#include "elements/packed.hpp"
#include "elements/table.hpp"
#include "kernels/native/plan.hpp"
#include "kernels/native/walker.hpp"
#include "quantization/shape.hpp"

namespace dynquant::kernels::native {
namespace {

/// Rows at a time where the columns take more than one chunk. Each row lies on pages of its own: more rows evict each
/// other from the TLB before the next chunk reads them again.
constexpr std::int64_t rows_per_strip = 128;

int bits_of(data_type type) {
    return traits(type).bits;
}

const std::byte *address(const void *tensor, data_type type, std::int64_t element) {
    return static_cast<const std::byte *>(tensor) + element * bits_of(type) / 8;
}
std::byte *address(void *tensor, data_type type, std::int64_t element) {
    return static_cast<std::byte *>(tensor) + element * bits_of(type) / 8;
}

// ---- Strides ------------------------------------------------------------------------------------------------

/// Strides are in elements. Addresses may be unaligned, since oneDNN accepts any.
template <typename T>
void copy_as(const void *from, std::int64_t from_stride, std::int64_t count, void *to, std::int64_t to_stride) {
    constexpr auto size = std::int64_t {sizeof(T)};
    for (std::int64_t i = 0; i < count; ++i)
        std::memcpy(static_cast<std::byte *>(to) + i * to_stride * size,
                static_cast<const std::byte *>(from) + i * from_stride * size, sizeof(T));
}

void gather(const kernel_loops &loops, const void *tensor, data_type type, std::int64_t first, std::int64_t stride,
        std::int64_t count, void *to) {
    const auto bits = bits_of(type);
    const auto *const from = address(tensor, type, first);
    if (bits == 32) return copy_as<std::uint32_t>(from, stride, count, to, 1);
    if (bits == 16) return copy_as<std::uint16_t>(from, stride, count, to, 1);
    if (bits == 8)
        return loops.gather_bytes(
                reinterpret_cast<const unsigned char *>(from), stride, count, static_cast<unsigned char *>(to));
    std::memset(to, 0, static_cast<std::size_t>(count));
    for (std::int64_t i = 0; i < count; ++i)
        put_packed(to, bits, i, packed_at(tensor, bits, first + i * stride));
}

void scatter(
        const void *from, void *tensor, data_type type, std::int64_t first, std::int64_t stride, std::int64_t count) {
    const auto bits = bits_of(type);
    auto *const to = address(tensor, type, first);
    if (bits == 32) return copy_as<std::uint32_t>(from, 1, count, to, stride);
    if (bits == 16) return copy_as<std::uint16_t>(from, 1, count, to, stride);
    if (bits == 8) return copy_as<std::uint8_t>(from, 1, count, to, stride);
    for (std::int64_t i = 0; i < count; ++i)
        put_packed(tensor, bits, first + i * stride, packed_at(from, bits, i));
}

// ---- Dense rows ---------------------------------------------------------------------------------------------

/// Rows of at least this many codes are written without staging.
constexpr std::int64_t min_unstaged_codes = 256;

bool begins_line(const void *p) {
    return reinterpret_cast<std::uintptr_t>(p) % 64 == 0;
}

/// Elements as the formulas read or write them.
struct alignas(64) tile {
    std::byte bytes[(tile_capacity + 4 * widest_step) * 4];
};

/// Reads `count` elements to a dense array of the type that the formulas read. `spare` is scratch space.
void read(const kernel_loops &loops, const staging &m, const void *src, std::int64_t first, std::int64_t stride,
        std::int64_t count, void *to, tile &spare) {
    if (stride != 1) {
        gather(loops, src, m.src, first, stride, count, m.read ? spare.bytes : to);
        if (m.read) m.read(spare.bytes, 0, count, to);
    } else if (m.read) {
        m.read(src, first, count, to);
    } else {
        std::memcpy(to, address(src, m.src, first), static_cast<std::size_t>(count * bits_of(m.src) / 8));
    }
    if (m.round) m.round(nullptr, 0, count, to);
}

/// Writes `count` results of a tile to dst. `spare` is scratch space.
void write(const staging &m, void *from, void *dst, std::int64_t first, std::int64_t stride, std::int64_t count,
        bool stream, tile &spare) {
    if (stride == 1) return m.write(from, count, dst, first, stream);
    if (!m.write) return scatter(from, dst, m.dst, first, stride, count);
    std::memset(spare.bytes, 0, static_cast<std::size_t>(count) * 4);
    m.write(from, count, spare.bytes, 0, false);
    scatter(spare.bytes, dst, m.dst, first, stride, count);
}

/// Moves to the parameters from some row and column on.
void move(prepared_parameters &at, parameter_access &g, form by, std::int64_t row, std::int64_t column, int lanes) {
    auto ahead = row * g.parameter_step;
    switch (by) {
        case form::rows: break;
        case form::cols: ahead = column; break;
        case form::short_groups:
            g.short_groups.index += column;
            g.short_groups.first += column / lanes;
            return;
        case form::segs1:
        case form::segs2:
        case form::segs4: ahead += column / g.group_length;
    }
    at.columns = at.columns.from(ahead);
}

/// Computes rows through tiles, which limit the columns and rows of a step.
[[gnu::noinline]] void compute_staged(const plan &p, const staged_kernel &by, form how, const prepared_parameters &at,
        const call &c, const placed_rows &r, const parameter_access &g) {
    const auto &m = by.memory;
    tile in, out;
    const bool reads = m.read || m.round || r.src_stride != 1, writes = m.write || r.dst_stride != 1;
    const auto columns_at_once = std::min(r.columns, tile_capacity);
    const auto max_rows = tile_capacity / columns_at_once;
    for (std::int64_t column = 0; column < r.columns; column += columns_at_once) {
        const auto count = std::min(columns_at_once, r.columns - column);
        for (std::int64_t row = 0; row < r.rows; row += max_rows) {
            const auto rows = std::min(max_rows, r.rows - row);
            const auto src = r.src + row * r.src_step + column * r.src_stride;
            const auto dst = r.dst + row * r.dst_step + column * r.dst_stride;
            const auto at_once = [&](std::int64_t step, std::int64_t stride) {
                return rows == 1 || step == count * stride ? rows : 1;
            };
            // A read may write beyond a row's end; the next row's read overwrites that.
            const auto rows_of_read = at_once(r.src_step, r.src_stride);
            for (std::int64_t i = 0; reads && i < rows; i += rows_of_read)
                read(*p.loops, m, c.src, src + i * r.src_step, r.src_stride, rows_of_read * count,
                        in.bytes + i * count * m.src_bytes, out);
            auto parameters = at;
            auto access = g;
            move(parameters, access, how, row, column, p.loops->lanes);
            const void *const x = reads ? in.bytes : address(c.src, m.src, src);
            void *const y = writes ? out.bytes : address(c.dst, m.dst, dst);
            const bool may_stream = how == form::rows || how == form::cols || p.encoding;
            const bool streams = c.stream && !writes && may_stream;
            by.kernel({rows, count, x, reads ? count : r.src_step, y, writes ? count : r.dst_step, streams}, parameters,
                    access);
            const auto rows_of_write = at_once(r.dst_step, r.dst_stride);
            for (std::int64_t i = 0; writes && i < rows; i += rows_of_write)
                write(m, out.bytes + i * count * m.dst_bytes, c.dst, dst + i * r.dst_step, r.dst_stride,
                        rows_of_write * count, c.stream, in);
        }
    }
}

/// Whether rows are not streamed, or begin at cache lines.
bool keep_lines(const call &c, const placed_rows &r, data_type dst) {
    if (!c.stream) return true;
    return begins_line(address(c.dst, dst, r.dst)) && (r.rows == 1 || r.dst_step * bits_of(dst) % 512 == 0);
}

bool can_look_up(const resolved &how, const placed_rows &r, bool keeps_lines) {
    return how.look_up && keeps_lines && (r.src | r.src_step | r.columns) % 2 == 0;
}

/// Whether microkernels gain by streaming to dst. Short contiguous rows: their ends cost more. Columns: streamed rows
/// are computed one by one, which is slower if the chunks lie apart, unless dst takes most of the traffic.
bool gain_by_streaming(const resolved &how, const placed_rows &r, bool keeps_lines) {
    const auto &m = how.usual.memory;
    const bool joined = r.src_step == r.columns && r.dst_step == r.columns;
    if (how.by == form::rows) return !joined || r.columns % widest_step == 0 || r.columns >= 1024;
    if (how.by == form::cols) return joined || r.rows == 1 || bits_of(m.dst) > bits_of(m.src);
    return keeps_lines;
}

/// The state of parameters of which `elements` elements use one scale.
chunk_state with_exact_scale(
        const exact_formulas &f, chunk_state state, std::int64_t elements, const parameter_columns &parameters) {
    const bool tests = state == chunk_state::guarded && elements >= f.min_elements_to_test;
    return tests && f.is_exact(parameters) ? chunk_state::exact : state;
}

const staged_kernel &choose(const resolved &how, std::int64_t columns, bool keeps_lines) {
    if (columns < min_unstaged_codes) return how.of_short_rows;
    return keeps_lines ? how.usual : how.of_broken_lines;
}

/// Computes rows by what the plan has resolved for the state of their parameters.
[[gnu::noinline]] void compute_dense_rows(const plan &p, const resolved_states &states, chunk_state state,
        const prepared_parameters &at, const call &c, const placed_rows &r, parameter_access g) {
    const auto by = states[state].by;
    if (by == form::rows && g.parameter_step == 0)
        state = with_exact_scale(p.formulas->exact, state, r.rows * r.columns, at.columns);
    const auto &how = states[state];
    const auto &m = how.usual.memory;
    const bool keeps_lines = keep_lines(c, r, m.dst);
    const bool looks_up = by == form::rows && can_look_up(how, r, keeps_lines);
    const auto &chosen = choose(how, r.columns, keeps_lines);
    g.encoding = p.encoding;
    if (!looks_up && !chosen.is_direct) return compute_staged(p, chosen, by, at, c, r, g);
    const bool stream = c.stream && (looks_up || gain_by_streaming(how, r, keeps_lines));
    (looks_up ? how.look_up : chosen.kernel)({r.rows, r.columns, address(c.src, m.src, r.src), r.src_step,
                                                     address(c.dst, m.dst, r.dst), r.dst_step, stream},
            at, g);
}

} // namespace

void compute_placed_rows(const chunk &parameters, std::int64_t base, const walk &w, const call &c, const placed_rows &r,
        const parameter_access &g) {
    const auto state = parameters.state();
    const auto &own = w.own[state];
    const auto length = g.group_length;
    const auto groups_of = [&](std::int64_t row) -> placed_rows {
        return {r.columns / length, length, r.src + row * r.src_step, length * r.src_stride, r.src_stride,
                r.dst + row * r.dst_step, length * r.dst_stride, r.dst_stride};
    };
    const bool groups_are_rows = r.rows <= own.max_rows_of_groups
            || (own.by != form::rows && r.rows == 1
                    && can_look_up(own, groups_of(0), keep_lines(c, groups_of(0), own.usual.memory.dst)));
    if (!groups_are_rows) return compute_dense_rows(parameters.p, w.own, state, parameters.at(base), c, r, g);
    for (std::int64_t row = 0; row < r.rows; ++row)
        compute_dense_rows(parameters.p, w.of_groups, state, parameters.at(base + row * g.parameter_step), c,
                groups_of(row), {1, {}, 1});
}

namespace {

placed_rows placed_at(
        const walk &w, const row_walker &walker, std::int64_t column, std::int64_t rows, std::int64_t count) {
    const auto loop = innermost_loop(w.axes);
    const auto &row = w.axes.row;
    return {rows, count, walker.src + column * row.src_stride, loop.src_stride, row.src_stride,
            walker.dst + column * row.dst_stride, loop.dst_stride, row.dst_stride};
}

[[gnu::noinline]] void compute_rows(const plan &p, const walk &w, const call &c, const rectangle &r) {
    chunk_storage<chunk_capacity> storage;
    chunk parameters(p, c, storage);
    const auto loop = innermost_loop(w.axes), next = next_loop(w.axes);
    const auto width = r.column_end - r.column_begin;
    const auto step = loop.parameter_stride;
    // A long row may have a cheaper formula that is exact for its scale.
    const bool row_by_row = width >= p.formulas->exact.min_elements_to_test;
    const auto longest = step == 0 ? INT64_MAX : row_by_row ? 1 : chunk_capacity;
    row_walker walker(w.axes, r.row_begin);
    std::int64_t count = 0;
    for (auto row = r.row_begin; row < r.row_end; row += count, walker.advance(count)) {
        count = walker.rows_left(std::min(longest, r.row_end - row));
        const auto loops = count == loop.extent ? std::min(walker.loops_left(), (r.row_end - row) / count) : 1;
        const bool one = step == 0 || count == 1;
        const auto base = parameters.prepare_ahead({.first = walker.parameter,
                .stride = one ? 0 : step,
                .count = one ? 1 : count,
                .rows = one ? 1 : loops,
                .next_row = one ? 0 : next.parameter_stride});
        compute_placed_rows(parameters, base, w, c, placed_at(w, walker, r.column_begin, count, width),
                {step != 0 && count > 1, {}, 1});
    }
}

[[gnu::noinline]] void compute_columns(const plan &p, const walk &w, const call &c, const rectangle &r) {
    chunk_storage<chunk_capacity> storage;
    chunk parameters(p, c, storage);
    const auto loop = innermost_loop(w.axes), next = next_loop(w.axes);
    const auto stride = w.axes.row.parameter_stride, step = loop.parameter_stride;
    const bool extends = w.expands || w.period > 0;
    const parameter_access g = {0, {w.index.data(), w.first.data()}, w.group_length};
    const auto rows_at_once =
            w.chunk < r.column_end - r.column_begin && w.period == 0 ? rows_per_strip : r.row_end - r.row_begin;
    for (auto top = r.row_begin; top < r.row_end; top += rows_at_once) {
        const auto bottom = std::min(top + rows_at_once, r.row_end);
        for (std::int64_t column = r.column_begin, count = 0; column < r.column_end; column += count) {
            count = std::min(w.chunk, r.column_end - column);
            const auto number = column / w.group_length * stride, needed = ceil_div(count, w.group_length);
            row_walker walker(w.axes, top);
            std::int64_t rows = 0;
            for (auto row = top; row < bottom; row += rows, walker.advance(rows)) {
                rows = step == 0 || extends ? walker.rows_left(step == 0 ? bottom - row : 1) : 1;
                std::int64_t base = 0;
                if (extends) {
                    parameters.prepare_columns(w, walker.parameter + number, count);
                } else {
                    const auto loops = rows == loop.extent ? std::min(walker.loops_left(), (bottom - row) / rows) : 1;
                    base = parameters.prepare_ahead({.first = walker.parameter + number,
                            .stride = stride,
                            .count = needed,
                            .rows = step == 0 ? loops : walker.rows_left(bottom - row),
                            .next_row = step == 0 ? next.parameter_stride : step});
                }
                compute_placed_rows(parameters, base, w, c, placed_at(w, walker, column, rows, count), g);
            }
        }
    }
}

} // namespace

bool is_flat(const plan &p) {
    const auto &axes = p.walks[0].axes;
    return p.walks.size() == 1 && axes.loop_count == 0 && axes.row.parameter_stride == 0 && axes.begin == offsets {};
}

namespace {

/// fetch() of one scale and zero point. The loops of fetch() take 10 ns, a third of a call of 256 elements.
void fetch_one(const plan &p, const call &c, const parameter_columns &to) {
    if (!p.has_plain_parameters) return fetch(p, c, {0, 1, 1}, to);
    const auto one = to.as<fetched_parameters>();
    *one.zero_point = c.zero_points ? plain_zero_point(p.zero_points, c.zero_points) : p.no_zero_point;
    std::memcpy(one.scale, c.scales, sizeof(float));
}

} // namespace

void compute_flat(const plan &p, const call &c) {
    chunk_storage<1> one;
    const prepared_parameters at = {one.columns(), p.constants};
    fetch_one(p, c, at.columns);
    const auto &f = *p.formulas;
    const auto &w = p.walks[0];
    const auto &row = w.axes.row;
    const auto prepared = f.prepare(1, at.columns);
    const auto state = with_exact_scale(f.exact, prepared, row.extent, at.columns);
    const auto &chosen = choose(w.own[state], row.extent, true);
    if (chosen.is_direct)
        chosen.kernel({1, row.extent, c.src, row.extent, c.dst, row.extent, false}, at, {0, {}, 1, p.encoding});
    else
        compute_dense_rows(
                p, w.own, state, at, c, {1, row.extent, 0, 0, row.src_stride, 0, 0, row.dst_stride}, {0, {}, 1});
    p.loops->zero_upper();
}

void compute(const plan &p, const walk &w, const call &c, const rectangle &r) {
    switch (w.traversal) {
        case walk::order::rows: compute_rows(p, w, c, r); break;
        case walk::order::columns: compute_columns(p, w, c, r); break;
        case walk::order::transposed: compute_transposed(p, w, c, r); break;
    }
    if (c.stream)
        p.loops->fence(); // orders non-temporal stores before the store that signals completion to other threads
    p.loops->zero_upper();
}

} // namespace dynquant::kernels::native

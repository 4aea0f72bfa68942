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

/// Rows at a time where the columns take more than one panel. Each row lies on pages of its own: more rows evict each
/// other from the TLB before the next panel reads them again.
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

void gather(const instruction_set &set, const void *tensor, data_type type, std::int64_t first, std::int64_t stride,
        std::int64_t count, void *to) {
    const auto bits = bits_of(type);
    const auto *const from = address(tensor, type, first);
    if (bits == 32) return copy_as<std::uint32_t>(from, stride, count, to, 1);
    if (bits == 16) return copy_as<std::uint16_t>(from, stride, count, to, 1);
    if (bits == 8)
        return set.gather_bytes(
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

/// A microkernel, and the staging that it still needs.
struct fused {
    microkernel kernel;
    staging memory;
};

access reading(data_type src) {
    return src == data_type::f16 ? access::of_f16 : src == data_type::bf16 ? access::of_bf16 : access::as_is;
}

access writing(data_type dst, const small_float_encoding *encoding) {
    if (encoding) return access::to_codes;
    return dst == data_type::f16 ? access::to_f16 : dst == data_type::bf16 ? access::to_bf16 : access::as_is;
}

/// Picks a microkernel that reads or writes the type in memory without a codec, if there is one. Codes of fewer than 8
/// bits are written as bytes, which are then packed.
fused fuse(const plan &p, const microkernels &k, const staging &m, form by, bool dense_src, bool dense_dst) {
    const auto wanted = m.write && dense_dst  ? writing(m.dst, p.encoding)
            : m.read && dense_src && !m.round ? reading(m.src)
                                              : access::as_is;
    fused result = {k.at(by, wanted), m};
    if (!result.kernel) return {k.at(by), m};
    if (wanted == access::of_f16 || wanted == access::of_bf16) result.memory.read = nullptr;
    if (wanted == access::to_f16 || wanted == access::to_bf16) result.memory.write = nullptr;
    if (wanted == access::to_codes) {
        result.memory.dst_bytes = 1;
        result.memory.write = bits_of(m.dst) == 8 ? nullptr : p.set->code.write_bytes[m.dst];
    }
    return result;
}

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
void read(const instruction_set &set, const staging &m, const void *src, std::int64_t first, std::int64_t stride,
        std::int64_t count, void *to, tile &spare) {
    if (stride != 1) {
        gather(set, src, m.src, first, stride, count, m.read ? spare.bytes : to);
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

/// The parameters from some row and column on.
struct position {
    prepared_parameters at;
    parameter_access by;
};

position moved(const prepared_parameters &p, const parameter_access &g, form by, std::int64_t row, std::int64_t column,
        int lanes) {
    const auto advanced = [&](std::int64_t parameters) {
        return position {{p.scale + parameters, p.reciprocal + parameters, p.of_family + parameters, p.bound}, g};
    };
    switch (by) {
        case form::rows: return advanced(row * g.parameter_step);
        case form::cols: return advanced(column);
        case form::short_groups: break;
        case form::segs1: return advanced(row * g.parameter_step + column / lanes);
        case form::segs2: return advanced(row * g.parameter_step + column / (2 * lanes));
        case form::segs4: return advanced(row * g.parameter_step + column / (4 * lanes));
    }
    return {p,
            {g.parameter_step, {g.short_groups.index + column, g.short_groups.first + column / lanes}, g.group_length}};
}

/// Computes rows through tiles, which limit the columns and rows of a step.
[[gnu::noinline]] void compute_staged(const plan &p, const staging &m, const call &c, microkernel kernel,
        const prepared_parameters &parameters, const placed_rows &r, form by, const parameter_access &g) {
    tile in, out;
    const bool reads = m.read || m.round || r.src_stride != 1, writes = m.write || r.dst_stride != 1;
    const auto columns_at_once = std::min(r.columns, tile_capacity);
    const auto most_rows = tile_capacity / columns_at_once;
    for (std::int64_t column = 0; column < r.columns; column += columns_at_once) {
        const auto count = std::min(columns_at_once, r.columns - column);
        for (std::int64_t row = 0; row < r.rows; row += most_rows) {
            const auto rows = std::min(most_rows, r.rows - row);
            const auto src = r.src + row * r.src_step + column * r.src_stride;
            const auto dst = r.dst + row * r.dst_step + column * r.dst_stride;
            const auto at_once = [&](std::int64_t step, std::int64_t stride) {
                return rows == 1 || step == count * stride ? rows : 1;
            };
            // A read may write beyond a row's end; the next row's read overwrites that.
            const auto rows_of_read = at_once(r.src_step, r.src_stride);
            for (std::int64_t i = 0; reads && i < rows; i += rows_of_read)
                read(*p.set, m, c.src, src + i * r.src_step, r.src_stride, rows_of_read * count,
                        in.bytes + i * count * m.src_bytes, out);
            const auto here = moved(parameters, g, by, row, column, p.set->lanes);
            const void *const x = reads ? in.bytes : address(c.src, m.src, src);
            void *const y = writes ? out.bytes : address(c.dst, m.dst, dst);
            const bool may_stream = by == form::rows || by == form::cols || p.encoding;
            const bool streams = c.stream && !writes && may_stream;
            kernel({rows, count, x, reads ? count : r.src_step, y, writes ? count : r.dst_step, streams}, here.at,
                    here.by);
            const auto rows_of_write = at_once(r.dst_step, r.dst_stride);
            for (std::int64_t i = 0; writes && i < rows; i += rows_of_write)
                write(m, out.bytes + i * count * m.dst_bytes, c.dst, dst + i * r.dst_step, r.dst_stride,
                        rows_of_write * count, c.stream, in);
        }
    }
}

/// The microkernel that computes 4-bit elements by a table of their results, or null.
microkernel look_up_of(const panel &parameters, const staging &m, const placed_rows &r, const call &c) {
    if (bits_of(m.src) != 4 || r.src_stride != 1 || r.dst_stride != 1) return nullptr;
    if ((r.src | r.src_step | r.columns) % 2 != 0) return nullptr;
    if (traits(m.src).integral && parameters.state() == preparation::any_parameters) return nullptr;
    const auto line = 512 / bits_of(m.dst);
    const bool in_lines = begins_line(address(c.dst, m.dst, r.dst)) && (r.rows == 1 || r.dst_step % line == 0);
    if (c.stream && !in_lines) return nullptr;
    const auto &set = *parameters.p.set;
    if (m.dst == data_type::f32) return set.look_up_to_f32[m.src];
    if (m.dst == data_type::f16) return set.look_up_to_f16[m.src];
    if (m.dst == data_type::bf16) return set.look_up_to_bf16[m.src];
    return nullptr;
}

/// Whether groups of whole vectors are faster as rows, because rows avoid staging.
bool groups_are_rows(
        const panel &parameters, const staging &m, const call &c, const placed_rows &r, form by, std::int64_t length) {
    if (by != form::segs1 && by != form::segs2 && by != form::segs4) return false;
    if (r.rows > 1 || r.src_stride != 1 || r.dst_stride != 1 || m.round || (!m.read && !m.write)) return false;
    const auto &kernels = formulas_of(*parameters.p.formulas, parameters.state(), 0, 0);
    const auto avoids_staging = [&](form other) {
        return fuse(parameters.p, kernels, m, other, true, true).memory.write != m.write;
    };
    return (avoids_staging(form::rows) && !avoids_staging(by))
            || (length >= 32
                    && look_up_of(parameters, m, {r.columns / length, length, r.src, length, 1, r.dst, length, 1}, c));
}

} // namespace

void compute_placed_rows(const panel &parameters, std::int64_t base, const staging &m, const call &c,
        const placed_rows &r, form by, const parameter_access &g) {
    const plan &p = parameters.p;
    const auto &kernels = formulas_of(*p.formulas, parameters.state(), 0, 0);
    const auto at = parameters.at(base);
    const auto kernel = kernels.at(by);
    if (!kernel || groups_are_rows(parameters, m, c, r, by, g.group_length)) { // each group is a row
        const auto length = g.group_length;
        for (std::int64_t row = 0; row < r.rows; ++row)
            compute_placed_rows(parameters, base + row * g.parameter_step, m, c,
                    {r.columns / length, length, r.src + row * r.src_step, length * r.src_stride, r.src_stride,
                            r.dst + row * r.dst_step, length * r.dst_stride, r.dst_stride},
                    form::rows, {1, {}, 1});
        return;
    }
    const bool is_rows = by == form::rows;
    const bool dense = r.src_stride == 1 && r.dst_stride == 1;
    const bool in_lines =
            begins_line(address(c.dst, m.dst, r.dst)) && (r.rows == 1 || r.dst_step * bits_of(m.dst) % 512 == 0);
    // Row ends of codes cost more than staging.
    const bool dense_dst = r.dst_stride == 1 && (r.columns >= min_unstaged_codes || !p.encoding);
    const auto elements = is_rows && g.parameter_step == 0 ? r.rows * r.columns : 0;
    const auto &best = formulas_of(*p.formulas, parameters.state(), at.scale[0], elements);
    auto chosen = fuse(p, best, m, by, r.src_stride == 1, dense_dst);
    if (!chosen.kernel) chosen = fuse(p, kernels, m, by, r.src_stride == 1, dense_dst);
    // Microkernels stream only codes that begin a cache line.
    if (p.encoding && dense_dst && c.stream && !in_lines && !chosen.memory.write)
        chosen.memory.write = p.set->code.write_bytes[m.dst];
    const auto &memory = chosen.memory;
    auto access = g;
    access.encoding = p.encoding;
    if (is_rows)
        if (const auto look_up = look_up_of(parameters, m, r, c))
            return look_up({r.rows, r.columns, address(c.src, m.src, r.src), r.src_step, address(c.dst, m.dst, r.dst),
                                   r.dst_step, c.stream},
                    at, g);
    const auto direct = [&](microkernel k) {
        // Short contiguous rows: their ends cost more than streaming gains. Columns: streamed rows are computed one by
        // one, which is slower if the panels lie apart, unless dst takes most of the traffic.
        const bool joined = r.src_step == r.columns && r.dst_step == r.columns;
        const bool pays = is_rows  ? !joined || r.columns % widest_step == 0 || r.columns >= 1024
                : by == form::cols ? joined || r.rows == 1 || bits_of(m.dst) > bits_of(m.src)
                                   : in_lines;
        const bool stream = c.stream && pays;
        k({r.rows, r.columns, address(c.src, m.src, r.src), r.src_step, address(c.dst, m.dst, r.dst), r.dst_step,
                  stream},
                at, access);
    };
    if (dense && !memory.read && !memory.write && !memory.round) return direct(chosen.kernel);
    compute_staged(p, memory, c, chosen.kernel, at, r, by, access);
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
    panel_storage<panel_capacity> storage;
    panel parameters(p, c, storage);
    const auto loop = innermost_loop(w.axes), next = next_loop(w.axes);
    const auto width = r.column_end - r.column_begin;
    const auto step = loop.parameter_stride;
    // A long row may have a cheaper formula that is exact for its scale.
    const bool row_by_row = p.formulas->is_exact && width >= p.formulas->min_elements_to_test;
    const auto longest = step == 0 ? INT64_MAX : row_by_row ? 1 : panel_capacity;
    row_walker walker(w.axes, r.row_begin);
    std::int64_t count = 0;
    for (auto row = r.row_begin; row < r.row_end; row += count, walker.advance(count)) {
        count = walker.rows_left(std::min(longest, r.row_end - row));
        const auto loops = count == loop.extent ? std::min(walker.loops_left(), (r.row_end - row) / count) : 1;
        const auto base = step == 0 || count == 1
                ? parameters.prepare_ahead({.first = walker.parameter, .stride = 0, .count = 1})
                : parameters.prepare_ahead({.first = walker.parameter,
                        .stride = step,
                        .count = count,
                        .rows = loops,
                        .next_row = next.parameter_stride});
        compute_placed_rows(parameters, base, p.memory, c, placed_at(w, walker, r.column_begin, count, width),
                form::rows, {step != 0 && count > 1, {}, 1});
    }
}

[[gnu::noinline]] void compute_columns(const plan &p, const walk &w, const call &c, const rectangle &r) {
    panel_storage<panel_capacity> storage;
    panel parameters(p, c, storage);
    const auto loop = innermost_loop(w.axes), next = next_loop(w.axes);
    const auto stride = w.axes.row.parameter_stride, step = loop.parameter_stride;
    const bool extends = w.expands || w.period > 0;
    const parameter_access g = {0, {w.index.data(), w.first.data()}, w.group_length};
    const auto rows_at_once =
            w.panel < r.column_end - r.column_begin && w.period == 0 ? rows_per_strip : r.row_end - r.row_begin;
    for (auto top = r.row_begin; top < r.row_end; top += rows_at_once) {
        const auto bottom = std::min(top + rows_at_once, r.row_end);
        for (std::int64_t column = r.column_begin, count = 0; column < r.column_end; column += count) {
            count = std::min(w.panel, r.column_end - column);
            const auto number = column / w.group_length * stride, needed = ceil_div(count, w.group_length);
            row_walker walker(w.axes, top);
            std::int64_t rows = 0;
            for (auto row = top; row < bottom; row += rows, walker.advance(rows)) {
                rows = step == 0 || extends ? walker.rows_left(step == 0 ? bottom - row : 1) : 1;
                std::int64_t base = 0;
                if (extends) {
                    parameters.prepare_columns(w, walker.parameter + number, count);
                } else if (step == 0) {
                    const auto loops = rows == loop.extent ? std::min(walker.loops_left(), (bottom - row) / rows) : 1;
                    base = parameters.prepare_ahead({.first = walker.parameter + number,
                            .stride = stride,
                            .count = needed,
                            .rows = loops,
                            .next_row = next.parameter_stride});
                } else {
                    base = parameters.prepare_ahead({.first = walker.parameter + number,
                            .stride = stride,
                            .count = needed,
                            .rows = walker.rows_left(bottom - row),
                            .next_row = step});
                }
                compute_placed_rows(parameters, base, p.memory, c, placed_at(w, walker, column, rows, count),
                        w.microkernel_form, g);
            }
        }
    }
}

} // namespace

bool is_flat(const plan &p) {
    const auto is_fused = [](bool has_codec, data_type type) {
        return !has_codec || type == data_type::f16 || type == data_type::bf16;
    };
    if (p.walks.size() != 1 || p.memory.round || p.scales != data_type::f32) return false;
    if (!is_fused(p.memory.read, p.memory.src) || !is_fused(p.memory.write, p.memory.dst)) return false;
    const auto &form = p.walks[0].axes;
    return form.loop_count == 0 && form.row.src_stride == 1 && form.row.dst_stride == 1
            && form.row.parameter_stride == 0 && form.begin == offsets {};
}

namespace {

/// fetch() of one scale and zero point. The loops of fetch() take 10 ns, a third of a call of 256 elements.
void fetch_one(const plan &p, const call &c, panel_storage<1> &to) {
    const auto number = [&](auto value) {
        std::memcpy(&value, c.zero_points, sizeof(value)); // may be unaligned
        to.of_family[0] = __builtin_bit_cast(float, std::int32_t {value});
    };
    const bool is_plain = p.division == precision::f32 && !c.second_scales && !p.formulas->is_f32_zero;
    if (is_plain && !c.zero_points)
        to.of_family[0] = p.no_zero;
    else if (is_plain && p.zero_points == data_type::s32)
        number(std::int32_t {});
    else if (is_plain && p.zero_points == data_type::u8)
        number(std::uint8_t {});
    else if (is_plain && p.zero_points == data_type::s8)
        number(std::int8_t {});
    else
        return fetch(p, c, {0, 1, 1}, to.scale, to.reciprocal, to.of_family);
    std::memcpy(to.scale, c.scales, sizeof(float));
}

} // namespace

void compute_flat(const plan &p, const call &c) {
    panel_storage<1> one;
    one.reciprocal[0] = 0;
    float bound = p.bound;
    fetch_one(p, c, one);
    const auto state = p.formulas->prepare(1, one.scale, one.reciprocal, one.of_family, &bound);
    const auto &w = p.walks[0];
    const auto count = w.axes.row.extent;
    const auto &formulas = formulas_of(*p.formulas, state, one.scale[0], count);
    auto kernel = formulas.at(form::rows);
    if (p.memory.read || p.memory.write) {
        const auto chosen = fuse(p, formulas, p.memory, form::rows, true, true);
        if (!chosen.kernel || chosen.memory.read || chosen.memory.write) return compute(p, w, c, {0, 1, 0, count});
        kernel = chosen.kernel;
    }
    kernel({1, count, c.src, count, c.dst, count, false}, {one.scale, one.reciprocal, one.of_family, bound},
            {0, {}, 1});
    p.set->zero_upper();
}

void compute(const plan &p, const walk &w, const call &c, const rectangle &r) {
    switch (w.traversal) {
        case walk::order::rows: compute_rows(p, w, c, r); break;
        case walk::order::columns: compute_columns(p, w, c, r); break;
        case walk::order::transposed: compute_transposed(p, w, c, r); break;
    }
    if (c.stream)
        p.set->fence(); // orders non-temporal stores before the store that signals completion to other threads
    p.set->zero_upper();
}

} // namespace dynquant::kernels::native

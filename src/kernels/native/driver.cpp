// The driver: goes through a walk block by block, prepares the parameters of each block, and hands dense blocks to the
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

/// Rows per block where the columns take more than one panel. Each row lies on pages of its own: more rows evict each
/// other from the TLB before the next panel reads them again.
constexpr std::int64_t rows_per_block = 128;

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

// ---- Blocks -------------------------------------------------------------------------------------------------

microkernel kernel_of(const microkernels &m, walk::form by) {
    switch (by) {
        case walk::form::rows: return m.rows;
        case walk::form::cols: return m.cols;
        case walk::form::runs: return m.runs;
        case walk::form::segs1: return m.segs[0];
        case walk::form::segs2: return m.segs[1];
        case walk::form::segs4: return m.segs[2];
    }
    return m.rows;
}

/// A microkernel, and the staging that it still needs.
struct fused {
    microkernel kernel;
    staging memory;
};

/// Picks a microkernel that reads or writes the type in memory without a codec, if there is one. Codes of fewer than 8
/// bits are written as bytes, which are then packed.
fused fuse(const plan &p, const microkernels &k, const staging &m, walk::form by, bool dense_src, bool dense_dst) {
    fused result = {kernel_of(k, by), m};
    const auto take = [](microkernel kernel, auto &codec, fused &to) {
        if (!kernel) return;
        to.kernel = kernel;
        codec = nullptr;
    };
    if (m.write && dense_dst && p.writes_codes) {
        const auto kernel = by == walk::form::rows ? k.rows_to_codes
                : by == walk::form::cols           ? k.cols_to_codes
                : by == walk::form::runs           ? nullptr
                                                   : k.segs_to_codes;
        if (kernel)
            result = {kernel, {m.src, m.dst, m.read, m.round, bits_of(m.dst) == 8 ? nullptr : p.write_codes, 1}};
    } else if (by == walk::form::rows && m.write && dense_dst) {
        if (m.dst == data_type::f16) take(k.rows_to_f16, result.memory.write, result);
        if (m.dst == data_type::bf16) take(k.rows_to_bf16, result.memory.write, result);
    } else if (by == walk::form::rows && m.read && dense_src && !m.round) {
        if (m.src == data_type::f16) take(k.rows_of_f16, result.memory.read, result);
        if (m.src == data_type::bf16) take(k.rows_of_bf16, result.memory.read, result);
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
    std::byte bytes[(tile_capacity + 4 * widest_block) * 4];
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

/// The parameters of a block from one of its rows and columns on.
struct position {
    columns at;
    guide by;
};

position moved(const columns &c, const guide &g, walk::form by, std::int64_t row, std::int64_t column, int lanes) {
    const auto advanced = [&](std::int64_t parameters) {
        return position {{c.scale + parameters, c.reciprocal + parameters, c.zero + parameters, c.bound}, g};
    };
    switch (by) {
        case walk::form::rows: return advanced(row * g.parameter_step);
        case walk::form::cols: return advanced(column);
        case walk::form::runs: break;
        case walk::form::segs1: return advanced(row * g.parameter_step + column / lanes);
        case walk::form::segs2: return advanced(row * g.parameter_step + column / (2 * lanes));
        case walk::form::segs4: return advanced(row * g.parameter_step + column / (4 * lanes));
    }
    return {c, {g.parameter_step, {g.runs.index + column, g.runs.first + column / lanes}, g.run}};
}

/// Computes a block through tiles, which limit the columns and rows of a step.
[[gnu::noinline]] void compute_staged(const plan &p, const staging &m, const call &c, microkernel kernel,
        const columns &parameters, const placed_block &b, walk::form by, const guide &g) {
    tile in, out;
    const bool reads = m.read || m.round || b.src_stride != 1, writes = m.write || b.dst_stride != 1;
    const auto columns_at_once = std::min(b.columns, tile_capacity);
    const auto most_rows = tile_capacity / columns_at_once;
    for (std::int64_t column = 0; column < b.columns; column += columns_at_once) {
        const auto count = std::min(columns_at_once, b.columns - column);
        for (std::int64_t row = 0; row < b.rows; row += most_rows) {
            const auto rows = std::min(most_rows, b.rows - row);
            const auto src = b.src + row * b.src_step + column * b.src_stride;
            const auto dst = b.dst + row * b.dst_step + column * b.dst_stride;
            const auto at_once = [&](std::int64_t step, std::int64_t stride) {
                return rows == 1 || step == count * stride ? rows : 1;
            };
            // A read may write beyond a row's end; the next row's read overwrites that.
            const auto rows_of_read = at_once(b.src_step, b.src_stride);
            for (std::int64_t i = 0; reads && i < rows; i += rows_of_read)
                read(*p.set, m, c.src, src + i * b.src_step, b.src_stride, rows_of_read * count,
                        in.bytes + i * count * p.src_bytes, out);
            const auto here = moved(parameters, g, by, row, column, p.set->lanes);
            const void *const x = reads ? in.bytes : address(c.src, m.src, src);
            void *const y = writes ? out.bytes : address(c.dst, m.dst, dst);
            const bool may_stream = by == walk::form::rows || by == walk::form::cols || p.writes_codes;
            const bool streams = c.stream && !writes && may_stream;
            kernel({rows, count, x, reads ? count : b.src_step, y, writes ? count : b.dst_step, streams}, here.at,
                    here.by);
            const auto rows_of_write = at_once(b.dst_step, b.dst_stride);
            for (std::int64_t i = 0; writes && i < rows; i += rows_of_write)
                write(m, out.bytes + i * count * m.dst_bytes, c.dst, dst + i * b.dst_step, b.dst_stride,
                        rows_of_write * count, c.stream, in);
        }
    }
}

/// The microkernel that computes 4-bit elements by a table of their results, or null.
microkernel look_up_of(const panel &parameters, const staging &m, const placed_block &b, const call &c) {
    if (bits_of(m.src) != 4 || b.src_stride != 1 || b.dst_stride != 1) return nullptr;
    if ((b.src | b.src_step | b.columns) % 2 != 0) return nullptr;
    if (traits(m.src).integral && parameters.state() == preparation::general) return nullptr;
    const auto line = 512 / bits_of(m.dst);
    const bool in_lines = begins_line(address(c.dst, m.dst, b.dst)) && (b.rows == 1 || b.dst_step % line == 0);
    if (c.stream && !in_lines) return nullptr;
    const auto &set = *parameters.p.set;
    if (m.dst == data_type::f32) return set.look_up_to_f32[m.src];
    if (m.dst == data_type::f16) return set.look_up_to_f16[m.src];
    if (m.dst == data_type::bf16) return set.look_up_to_bf16[m.src];
    return nullptr;
}

/// Whether runs of whole vectors are faster as rows, because rows avoid staging.
bool runs_are_rows(const panel &parameters, const staging &m, const call &c, const placed_block &b, walk::form by,
        std::int64_t length) {
    if (by != walk::form::segs1 && by != walk::form::segs2 && by != walk::form::segs4) return false;
    if (b.rows > 1 || b.src_stride != 1 || b.dst_stride != 1 || m.round || (!m.read && !m.write)) return false;
    const auto &kernels = formulas_of(*parameters.p.formulas, parameters.state(), 0, 0);
    const auto avoids_staging = [&](walk::form form) {
        return fuse(parameters.p, kernels, m, form, true, true).memory.write != m.write;
    };
    return (avoids_staging(walk::form::rows) && !avoids_staging(by))
            || (length >= 32
                    && look_up_of(parameters, m, {b.columns / length, length, b.src, length, 1, b.dst, length, 1}, c));
}

} // namespace

void compute_block(const panel &parameters, std::int64_t base, const staging &m, const call &c, const placed_block &b,
        walk::form by, const guide &g) {
    const plan &p = parameters.p;
    const auto &kernels = formulas_of(*p.formulas, parameters.state(), 0, 0);
    const auto at = parameters.at(base);
    const auto kernel = kernel_of(kernels, by);
    if (!kernel || runs_are_rows(parameters, m, c, b, by, g.run)) { // each run is a row
        const auto length = g.run;
        for (std::int64_t row = 0; row < b.rows; ++row)
            compute_block(parameters, base + row * g.parameter_step, m, c,
                    {b.columns / length, length, b.src + row * b.src_step, length * b.src_stride, b.src_stride,
                            b.dst + row * b.dst_step, length * b.dst_stride, b.dst_stride},
                    walk::form::rows, {1, {}, 1});
        return;
    }
    const bool is_rows = by == walk::form::rows;
    const bool dense = b.src_stride == 1 && b.dst_stride == 1;
    const bool in_lines =
            begins_line(address(c.dst, m.dst, b.dst)) && (b.rows == 1 || b.dst_step * bits_of(m.dst) % 512 == 0);
    // Row ends of codes cost more than staging.
    const bool dense_dst = b.dst_stride == 1 && (b.columns >= min_unstaged_codes || !p.writes_codes);
    const auto elements = is_rows && g.parameter_step == 0 ? b.rows * b.columns : 0;
    const auto &best = formulas_of(*p.formulas, parameters.state(), at.scale[0], elements);
    auto chosen = fuse(p, best, m, by, b.src_stride == 1, dense_dst);
    if (!chosen.kernel) chosen = fuse(p, kernels, m, by, b.src_stride == 1, dense_dst);
    // Microkernels stream only codes that begin a cache line.
    if (p.writes_codes && dense_dst && c.stream && !in_lines && !chosen.memory.write)
        chosen.memory.write = p.write_codes;
    const auto &memory = chosen.memory;
    auto guided = g;
    guided.encoding = &p.encoding;
    if (is_rows)
        if (const auto look_up = look_up_of(parameters, m, b, c))
            return look_up({b.rows, b.columns, address(c.src, m.src, b.src), b.src_step, address(c.dst, m.dst, b.dst),
                                   b.dst_step, c.stream},
                    at, g);
    const auto direct = [&](microkernel k) {
        // Short contiguous rows: their ends cost more than streaming gains. Columns: streamed rows are computed one by
        // one, which is slower if the panels lie apart, unless dst takes most of the traffic.
        const bool joined = b.src_step == b.columns && b.dst_step == b.columns;
        const bool pays = is_rows        ? !joined || b.columns % widest_block == 0 || b.columns >= 1024
                : by == walk::form::cols ? joined || b.rows == 1 || bits_of(m.dst) > bits_of(m.src)
                                         : in_lines;
        const bool stream = c.stream && pays;
        k({b.rows, b.columns, address(c.src, m.src, b.src), b.src_step, address(c.dst, m.dst, b.dst), b.dst_step,
                  stream},
                at, guided);
    };
    if (dense && !memory.read && !memory.write && !memory.round) return direct(chosen.kernel);
    compute_staged(p, memory, c, chosen.kernel, at, b, by, guided);
}

namespace {

placed_block block_at(
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
                ? parameters.find(walker.parameter, 0, 1, 0, 0)
                : parameters.find(walker.parameter, step, count, loops - 1, next.parameter_stride);
        compute_block(parameters, base, p.memory, c, block_at(w, walker, r.column_begin, count, width),
                walk::form::rows, {step != 0 && count > 1, {}, 1});
    }
}

[[gnu::noinline]] void compute_columns(const plan &p, const walk &w, const call &c, const rectangle &r) {
    panel_storage<panel_capacity> storage;
    panel parameters(p, c, storage);
    const auto loop = innermost_loop(w.axes), next = next_loop(w.axes);
    const auto stride = w.axes.row.parameter_stride, step = loop.parameter_stride;
    const bool extends = w.expands || w.period > 0;
    const guide g = {0, {w.index.data(), w.first.data()}, w.repeat};
    const auto rows_at_once =
            w.panel < r.column_end - r.column_begin && w.period == 0 ? rows_per_block : r.row_end - r.row_begin;
    for (auto top = r.row_begin; top < r.row_end; top += rows_at_once) {
        const auto bottom = std::min(top + rows_at_once, r.row_end);
        for (std::int64_t column = r.column_begin, count = 0; column < r.column_end; column += count) {
            count = std::min(w.panel, r.column_end - column);
            const auto number = column / w.repeat * stride, needed = ceil_div(count, w.repeat);
            row_walker walker(w.axes, top);
            std::int64_t rows = 0;
            for (auto row = top; row < bottom; row += rows, walker.advance(rows)) {
                rows = step == 0 || extends ? walker.rows_left(step == 0 ? bottom - row : 1) : 1;
                std::int64_t base = 0;
                if (extends) {
                    parameters.find_columns(w, walker.parameter + number, count);
                } else if (step == 0) {
                    const auto more =
                            rows == loop.extent ? std::min(walker.loops_left(), (bottom - row) / rows) - 1 : 0;
                    base = parameters.find(walker.parameter + number, stride, needed, more, next.parameter_stride);
                } else {
                    base = parameters.find(
                            walker.parameter + number, stride, needed, walker.rows_left(bottom - row) - 1, step);
                }
                compute_block(parameters, base, p.memory, c, block_at(w, walker, column, rows, count), w.by, g);
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
        to.zero[0] = __builtin_bit_cast(float, std::int32_t {value});
    };
    const bool is_plain = p.division == precision::f32 && !c.second_scales && !p.is_f32_zero;
    if (is_plain && !c.zero_points)
        to.zero[0] = p.no_zero;
    else if (is_plain && p.zero_points == data_type::s32)
        number(std::int32_t {});
    else if (is_plain && p.zero_points == data_type::u8)
        number(std::uint8_t {});
    else if (is_plain && p.zero_points == data_type::s8)
        number(std::int8_t {});
    else
        return fetch(p, c, {0, 1, 1}, to.scale, to.reciprocal, to.zero);
    std::memcpy(to.scale, c.scales, sizeof(float));
}

} // namespace

void compute_flat(const plan &p, const call &c) {
    panel_storage<1> one;
    one.reciprocal[0] = 0;
    float bound = p.bound;
    fetch_one(p, c, one);
    const auto state = p.formulas->prepare(1, one.scale, one.reciprocal, one.zero, &bound);
    const auto &w = p.walks[0];
    const auto count = w.axes.row.extent;
    const auto &formulas = formulas_of(*p.formulas, state, one.scale[0], count);
    auto kernel = formulas.rows;
    if (p.memory.read || p.memory.write) {
        const auto chosen = fuse(p, formulas, p.memory, walk::form::rows, true, true);
        if (!chosen.kernel || chosen.memory.read || chosen.memory.write) return compute(p, w, c, {0, 1, 0, count});
        kernel = chosen.kernel;
    }
    kernel({1, count, c.src, count, c.dst, count, false}, {one.scale, one.reciprocal, one.zero, bound}, {0, {}, 1});
    p.set->zero_upper();
}

void compute(const plan &p, const walk &w, const call &c, const rectangle &r) {
    switch (w.how) {
        case walk::order::rows: compute_rows(p, w, c, r); break;
        case walk::order::columns: compute_columns(p, w, c, r); break;
        case walk::order::transposed: compute_transposed(p, w, c, r); break;
    }
    if (c.stream)
        p.set->fence(); // orders non-temporal stores before the store that signals completion to other threads
    p.set->zero_upper();
}

} // namespace dynquant::kernels::native

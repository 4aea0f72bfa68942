// Picks microkernels that leave little to stage.
#include "elements/table.hpp"
#include "kernels/native/plan.hpp"

namespace dynquant::kernels::native {
namespace {

/// Groups of at least this many 4-bit elements are rows, if these are looked up.
constexpr std::int64_t min_group_to_look_up = 32;

const microkernels &formulas_of(const family &f, chunk_state state) {
    const microkernels *const of[] = {&f.any_parameters, &f.guarded, &f.no_zero_points, &f.exact.kernels};
    return *of[static_cast<int>(state)];
}

/// Rows of a walk as microkernels find them. Those of transposed walks are lines of a tile, to or from which the driver
/// transposes bytes.
struct rows_of_walk {
    staging memory;
    bool dense_src, dense_dst;
};

rows_of_walk rows_of(const plan &p, const walk &w) {
    const auto &row = w.axes.row;
    rows_of_walk r = {p.memory, row.src_stride == 1, row.dst_stride == 1};
    if (w.traversal != walk::order::transposed) return r;
    r.dense_src = r.dense_dst = true;
    if (traits(r.memory.src).bits < 8) {
        r.memory.read = p.loops->code.read_bytes[r.memory.src];
        r.memory.src = data_type::s8;
    }
    return r;
}

/// What a microkernel would have to read or write for a codec to be left out.
access instead_of_codec(const rows_of_walk &r, bool writes_codes) {
    const auto &m = r.memory;
    const bool reads = m.read && r.dense_src && !m.round;
    const bool of_f16 = reads && m.src == data_type::f16, of_bf16 = reads && m.src == data_type::bf16;
    if (!m.write || !r.dense_dst) return of_f16 ? access::of_f16 : of_bf16 ? access::of_bf16 : access::as_is;
    if (writes_codes) return of_f16 ? access::f16_to_codes : of_bf16 ? access::bf16_to_codes : access::to_codes;
    return m.dst == data_type::f16 ? access::to_f16 : m.dst == data_type::bf16 ? access::to_bf16 : access::as_is;
}

/// Picks a microkernel without a codec, if there is one. Codes of fewer than 8 bits are written as bytes, which are
/// then packed.
staged_kernel pick(const plan &p, const microkernels &from, form by, const rows_of_walk &r) {
    auto m = r.memory;
    auto wanted = instead_of_codec(r, p.encoding != nullptr);
    if (!from.at(by, wanted) && p.encoding && m.write && r.dense_dst) wanted = access::to_codes;
    if (!from.at(by, wanted)) wanted = access::as_is;
    switch (wanted) {
        case access::as_is: break;
        case access::of_f16:
        case access::of_bf16: m.read = nullptr; break;
        case access::to_f16:
        case access::to_bf16: m.write = nullptr; break;
        case access::f16_to_codes:
        case access::bf16_to_codes: m.read = nullptr; [[fallthrough]];
        case access::to_codes:
            m.write = traits(m.dst).bits == 8 ? nullptr : p.loops->code.write_bytes[m.dst];
            m.dst_bytes = 1;
    }
    return {from.at(by, wanted), m, r.dense_src && r.dense_dst && !m.read && !m.round && !m.write};
}

/// Families have microkernels for an exact scale in few forms.
staged_kernel pick(const plan &p, chunk_state state, form by, const rows_of_walk &r) {
    const auto &f = *p.formulas;
    const auto picked = pick(p, formulas_of(f, state), by, r);
    return state == chunk_state::exact && !picked.kernel ? pick(p, f.guarded, by, r) : picked;
}

microkernel look_up_of(const kernel_loops &loops, chunk_state state, const staging &m) {
    if (traits(m.src).integral && state == chunk_state::any_parameters) return nullptr;
    const auto &of = m.dst == data_type::f32 ? loops.look_up_to_f32
            : m.dst == data_type::f16        ? loops.look_up_to_f16
                                             : loops.look_up_to_bf16;
    return of[m.src];
}

resolved resolve(const plan &p, const walk &w, form by, chunk_state state) {
    auto rows = rows_of(p, w);
    const bool dense = rows.dense_src && rows.dense_dst;
    const bool whole_vectors = by == form::segs1 || by == form::segs2 || by == form::segs4;
    const auto usual = pick(p, state, by, rows);
    resolved r = {by, usual, usual, usual, nullptr, 0};
    if (p.encoding && !usual.memory.write) {
        r.of_broken_lines.memory.write = p.loops->code.write_bytes[rows.memory.dst];
        r.of_broken_lines.is_direct = false;
    }
    if (dense && (by == form::rows || (whole_vectors && w.group_length >= min_group_to_look_up)))
        r.look_up = look_up_of(*p.loops, state, rows.memory);
    const auto takes_codec = [&](const staged_kernel &k) { return k.memory.write == rows.memory.write; };
    if (!usual.kernel)
        r.max_rows_of_groups = INT64_MAX;
    else if (dense && whole_vectors && takes_codec(usual) && !takes_codec(pick(p, state, form::rows, rows)))
        r.max_rows_of_groups = 1;
    if (!p.encoding) return r;
    rows.dense_dst = false;
    const auto through_codec = pick(p, state, by, rows);
    r.of_short_rows = through_codec.kernel ? through_codec : r.of_broken_lines;
    return r;
}

} // namespace

void resolve(const plan &p, walk &w) {
    for (int i = 0; i < preparations; ++i) {
        const auto state = static_cast<chunk_state>(i);
        w.own.entries[i] = resolve(p, w, w.microkernel_form, state);
        if (w.group_length > 1) w.of_groups.entries[i] = resolve(p, w, form::rows, state);
    }
}

flat_microkernel flat_of(const plan &p) {
    const auto &f = *p.formulas;
    const auto &w = p.walks[0];
    const auto &usual = w.own[chunk_state::guarded].usual;
    const bool converts = !usual.is_direct || usual.memory.src != f.reads || usual.memory.dst != f.writes;
    const bool tests = w.axes.row.extent >= f.exact.min_elements_to_test;
    return p.has_plain_parameters && !converts && !tests ? f.flat : nullptr;
}

} // namespace dynquant::kernels::native

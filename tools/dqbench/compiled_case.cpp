#include "compiled_case.hpp"

#include <cstdio>
#include <unistd.h>

#include "elements/table.hpp"

namespace dqbench {
namespace {

/// An upper bound of the bytes in a case's buffers, including the copies for checking. Only scales and zero points are
/// needed where nothing runs.
double bytes_needed(const statement &s, bool runs) {
    const auto dense = [&](data_type type) {
        return static_cast<double>(dynquant::traits(type).bits) / 8 * static_cast<double>(s.volume());
    };
    const auto src = static_cast<double>(span_in_bytes(s.types.src, s.extents, s.src_strides));
    const double dst = s.dst_strides ? static_cast<double>(span_in_bytes(s.types.dst, s.extents, *s.dst_strides))
                                     : dense(s.types.dst);
    const double parameters = 32 * static_cast<double>(s.parameter_count());
    return runs ? 2 * src + 2 * dst + dense(s.types.dst) + parameters : parameters;
}

/// Refuses early: Linux overcommits, so an allocation that is too large would succeed and end the process later.
statement require_memory(statement s, bool runs) {
    constexpr double gib = 1 << 30;
    const double has = static_cast<double>(sysconf(_SC_PHYS_PAGES)) * static_cast<double>(sysconf(_SC_PAGESIZE));
    const double needed = bytes_needed(s, runs), most = has * 0.8;
    if (needed <= most) return s;
    char text[96];
    std::snprintf(text, sizeof text, "expected buffers of at most %.3g GiB, given ones of %.3g GiB", most / gib,
            needed / gib);
    throw not_enough_memory(text);
}

/// Mixes the shape into the random draw; otherwise all per-tensor cases would draw one and the same scale.
std::uint64_t salt(const dynquant::dims &extents) {
    std::uint64_t value = extents.size();
    for (const auto extent : extents)
        value = mix(value) + static_cast<std::uint64_t>(extent);
    return mix(value) >> 32;
}

} // namespace

parameters draw_parameters(const test_case &c, const statement &s) {
    const auto scales = s.computed ? data_type::f32 : s.types.scales; // drawn ones that src is filled for
    auto p = draw_parameters(c.parameters, s.parameter_count(), scales, s.types.zps, salt(s.extents));
    replace_scales(p, c.scales, s.types.scales);
    replace_zero_points(p, c.zps);
    return p;
}

compiled_case::compiled_case(const test_case &c)
    : what(c)
    , s(require_memory(statement(c), c.mode != run_mode::initialization))
    , drawn(draw_parameters(c, s))
    , program(make_program(c, s, drawn))
    , dst_strides(program->dst_strides())
    , ran(program->info()) {}

workspace compiled_case::make_workspace(filling kind) const {
    return workspace(s, drawn, span_in_bytes(s.types.dst, s.extents, dst_strides), kind, what.offset);
}

task compiled_case::task_for(workspace &w, guarded_buffer &dst) const {
    return {s, drawn, w.handles(), dst_strides, dst};
}

} // namespace dqbench

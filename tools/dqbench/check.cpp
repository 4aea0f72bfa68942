#include "check.hpp"

#include "compare.hpp"
#include "peers/peer.hpp"
#include "quantization/data_type.hpp"
#include "quantization/shape.hpp"
#include "quantization/text.hpp"
#include "timing.hpp"
#include "vocabulary.hpp"

namespace dqbench {

using dynquant::concat;

namespace {

/// The reference kernel's result, dense and row-major.
std::vector<std::byte> reference_result(const compiled_case &c, const workspace &w) {
    const auto strides = dynquant::row_major(c.s.extents);
    const auto q = c.s.direct(c.drawn, strides, c.s.exact_rule());
    dynquant::options options;
    options.kernel = dynquant::kernel_kind::reference;
    std::vector<std::byte> dst(static_cast<std::size_t>(dynquant::size_in_bytes(c.s.types.dst, c.s.volume())));
    dynquant::prepare(q, options).run(w.arguments_with_dst(dst.data()));
    return dst;
}

std::string count_of(const comparison &found, const statement &s) {
    return concat(found.differing, " of ", s.volume(), " results differ");
}

/// Most results are saturated or zero, and would be the same with many mistakes.
bool has_too_few_informative(const comparison &found, const compiled_case &c) {
    constexpr std::int64_t min_results_to_judge = 64;
    return c.what.parameters != parameter_kind::wild && c.s.volume() >= min_results_to_judge
            && found.informative < c.s.volume() / 10;
}

std::vector<std::string> compare_peer(
        peer_kind kind, const compiled_case &c, workspace &w, const std::vector<std::byte> &expected) {
    const std::string name = name_of(kind);
    if (kind == peer_kind::limit) return {concat(name, " computes nothing that could be compared")};
    guarded_buffer dst(static_cast<std::int64_t>(w.dst().bytes().size()));
    const auto attempt = try_make_peer(kind, c.task_for(w, dst));
    if (!attempt.instance) return {concat(name, ' ', attempt.reason)};
    const auto got = attempt.instance->dst();
    if (!got) return {concat(name, " chose a layout of its own, which cannot be compared")};
    const auto found = compare(
            c.s, c.drawn, w.src().data(), expected.data(), *got, {c.s.rule() == dynquant::numerics::any, false});
    std::vector<std::string> notes {concat(name, ": ", count_of(found, c.s))};
    for (const auto &difference : found.first)
        notes.push_back(concat("  ", difference));
    return notes;
}

/// Compares dst in the workspace with the expected result: passed, mistrusted or failed.
outcome check_dst(const compiled_case &c, const workspace &w, const std::vector<std::byte> &expected) {
    const computed got {w.dst(), c.dst_strides};
    if (!w.inputs_unchanged()) return {case_state::failed, "an input was written"};
    if (const auto stray = stray_write(c.s, got)) return {case_state::failed, *stray};
    const bool any = c.s.rule() == dynquant::numerics::any;
    const auto found = compare(c.s, c.drawn, w.src().data(), expected.data(), got,
            {any, any && c.ran.kernel == dynquant::kernel_kind::onednn});
    if (found.differing > 0) return {case_state::failed, count_of(found, c.s), {}, found.first};
    if (has_too_few_informative(found, c))
        return {case_state::mistrusted,
                concat("only ", found.informative, " of ", c.s.volume(), " results tell anything")};
    return {case_state::passed};
}

} // namespace

outcome check(compiled_case &c, phase_times &times) {
    workspace w = timed(times.fill, [&] { return c.make_workspace(filling::checking); });
    w.remember_inputs();
    c.program->bind(w.handles());
    timed(times.execute, [&] { c.program->execute(); });
    return timed(times.compare, [&] {
        const auto expected = reference_result(c, w);
        auto verdict = check_dst(c, w, expected);
        for (const auto kind : c.what.peers)
            for (auto &note : compare_peer(kind, c, w, expected))
                verdict.notes.push_back(std::move(note));
        return verdict;
    });
}

} // namespace dqbench

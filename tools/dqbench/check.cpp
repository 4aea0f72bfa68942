#include "check.hpp"

#include <algorithm>
#include <cstdio>

#include "compare.hpp"
#include "elements/load_store.hpp"
#include "elements/table.hpp"
#include "peers/peer.hpp"
#include "quantization/shape.hpp"
#include "quantization/text.hpp"
#include "timing.hpp"
#include "vocabulary.hpp"

namespace dqbench {

using dynquant::concat;

namespace {

/// The reference kernel's result: dst dense and row-major, and the parameters that are behind it.
struct expectation {
    std::vector<std::byte> dst;
    parameters used;
};

expectation reference_result(const compiled_case &c, const workspace &w) {
    const auto strides = dynquant::row_major(c.s.extents);
    const auto q = c.s.direct(c.drawn, strides, c.s.exact_rule());
    dynquant::options options;
    options.kernel = dynquant::kernel_kind::reference;
    std::vector<std::byte> dst(static_cast<std::size_t>(dynquant::size_in_bytes(c.s.types.dst, c.s.volume())));
    // As the workspace's before the run: for tensors without elements nothing is computed.
    std::vector<std::byte> scales(w.scales().bytes().size(), guarded_buffer::pattern);
    std::vector<std::byte> zero_points(w.zero_points().bytes().size(), guarded_buffer::pattern);
    auto args = w.inputs();
    args.dst = dst.data();
    args.computed_scales = scales.data();
    args.computed_zero_points = zero_points.data();
    dynquant::prepare(q, options).run(args);
    expectation result = {std::move(dst), c.drawn};
    if (!c.s.computed) return result;
    const auto at = [](data_type type, const std::vector<std::byte> &buffer, std::size_t i) {
        return dynquant::load(type, buffer.data(), static_cast<std::int64_t>(i));
    };
    for (std::size_t i = 0; i < result.used.scales.size(); ++i)
        result.used.scales[i] = static_cast<float>(at(c.s.types.scales, scales, i));
    for (std::size_t i = 0; i < result.used.zero_points.size(); ++i)
        result.used.zero_points[i] = static_cast<std::int32_t>(at(*c.s.types.zps, zero_points, i));
    return result;
}

filling filling_of(const compiled_case &c) {
    return c.what.data == data_kind::normal ? filling::normal : filling::checking;
}

std::string count_of(const comparison &found, const statement &s) {
    char share[32] = "";
    if (found.differing > 0)
        std::snprintf(share, sizeof share, " (%.3g %%)",
                100 * static_cast<double>(found.differing) / static_cast<double>(s.volume()));
    return concat(found.differing, " of ", s.volume(), " results differ", share);
}

/// Most results are saturated or zero, and would be the same with many mistakes.
bool has_too_few_informative(const comparison &found, const compiled_case &c) {
    constexpr std::int64_t min_results_to_judge = 64;
    return c.what.parameters != parameter_kind::wild && c.s.volume() >= min_results_to_judge
            && found.informative < c.s.volume() / 10;
}

std::vector<std::string> compare_peer(
        peer_kind kind, const compiled_case &c, workspace &w, const expectation &expected) {
    const std::string name = name_of(kind);
    if (!computes(kind)) return {concat(name, " computes nothing that could be compared")};
    guarded_buffer dst(static_cast<std::int64_t>(w.dst().bytes().size()));
    const auto attempt = try_make_peer(kind, c.task_for(w, dst));
    if (!attempt.instance) return {concat(name, ' ', attempt.reason)};
    const auto got = attempt.instance->dst();
    if (!got) return {concat(name, " chose a layout of its own, which cannot be compared")};
    const auto found = compare(c.s, expected.used, w.src().data(), expected.dst.data(), *got,
            {c.s.rule() == dynquant::numerics::any, false});
    std::vector<std::string> notes {concat(name, ": ", count_of(found, c.s))};
    for (const auto &difference : found.first)
        notes.push_back(concat("  ", difference));
    return notes;
}

/// The failure of computed scales and zero points, if they are not as expected.
std::optional<outcome> check_parameters(const compiled_case &c, const workspace &w, const parameters &expected) {
    if (!c.s.computed) return std::nullopt;
    if (!w.scales().guards_intact() || !w.zero_points().guards_intact())
        return outcome {case_state::failed, "bytes before or after the scales or zero points were written"};
    const auto found = compare_parameters(c.s, expected, w.scales(), w.zero_points());
    if (found.differing == 0) return std::nullopt;
    return outcome {case_state::failed,
            concat(found.differing, " of ", expected.scales.size() + expected.zero_points.size(),
                    " scales and zero points differ"),
            {}, found.first};
}

/// Compares the workspace's outputs with the expected result: passed, mistrusted or failed.
outcome check_outputs(const compiled_case &c, const workspace &w, const expectation &expected) {
    const computed got {w.dst(), c.dst_strides};
    if (!w.inputs_unchanged()) return {case_state::failed, "an input was written"};
    if (auto wrong = check_parameters(c, w, expected.used)) return *wrong;
    if (const auto stray = stray_write(c.s, got)) return {case_state::failed, *stray};
    const bool any = c.s.rule() == dynquant::numerics::any;
    const auto found = compare(c.s, expected.used, w.src().data(), expected.dst.data(), got,
            {any, any && c.ran.kernel == dynquant::kernel_kind::onednn});
    if (found.differing > 0) return {case_state::failed, count_of(found, c.s), {}, found.first};
    if (has_too_few_informative(found, c))
        return {case_state::mistrusted,
                concat("only ", found.informative, " of ", c.s.volume(), " results tell anything")};
    return {case_state::passed};
}

} // namespace

outcome check_bitwise(compiled_case &c, phase_times &times) {
    workspace w = timed(times.fill, [&] { return c.make_workspace(filling_of(c)); });
    c.program->bind(w.handles());
    // Both runs begin with the same bytes, so that those of no element are equal, too.
    const auto run = [&] {
        std::vector<std::byte> written;
        for (const auto &[type, buffer] : w.outputs())
            std::ranges::fill(buffer->bytes(), guarded_buffer::pattern);
        timed(times.execute, [&] { c.program->execute(); });
        for (const auto &[type, buffer] : w.outputs())
            written.insert(written.end(), buffer->bytes().begin(), buffer->bytes().end());
        return written;
    };
    const auto once = run(), again = run();
    return timed(times.compare, [&]() -> outcome {
        std::size_t differing = 0, first = 0;
        for (std::size_t i = once.size(); i-- > 0;)
            if (once[i] != again[i]) {
                ++differing;
                first = i;
            }
        if (differing == 0) return {case_state::passed};
        return {case_state::failed,
                concat(differing, " of ", once.size(), " bytes differ between two runs, the first at ", first)};
    });
}

outcome check(compiled_case &c, phase_times &times) {
    workspace w = timed(times.fill, [&] { return c.make_workspace(filling_of(c)); });
    w.remember_inputs();
    c.program->bind(w.handles());
    timed(times.execute, [&] { c.program->execute(); });
    return timed(times.compare, [&] {
        const auto expected = reference_result(c, w);
        auto verdict = check_outputs(c, w, expected);
        if (verdict.state == case_state::passed && std::ranges::any_of(c.what.peers, computes)) {
            verdict.state = case_state::compared;
            verdict.notes.push_back(concat("dynquant: ", count_of({}, c.s)));
        }
        for (const auto kind : c.what.peers)
            for (auto &note : compare_peer(kind, c, w, expected))
                verdict.notes.push_back(std::move(note));
        return verdict;
    });
}

} // namespace dqbench

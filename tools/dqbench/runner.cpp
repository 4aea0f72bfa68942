#include "runner.hpp"

#include <algorithm>
#include <bit>
#include <iterator>
#include <new>
#include <numeric>

#include "arena.hpp"
#include "caches.hpp"
#include "check.hpp"
#include "environment.hpp"
#include "options.hpp"
#include "peers/peer.hpp"
#include "quantization/onednn_type.hpp"
#include "quantization/text.hpp"
#include "targets/features.hpp"
#include "text_parsing.hpp"
#include "timing.hpp"
#include "vocabulary.hpp"

namespace dqbench {

using dynquant::concat;

namespace {

constexpr double fast_milliseconds = 10;

outcome execute_once(compiled_case &c, phase_times &times) {
    workspace w = timed(times.fill, [&] { return c.make_workspace(filling::measuring); });
    c.program->bind(w.handles());
    timed(times.execute, [&] { c.program->execute(); });
    return {case_state::executed};
}

/// Times of a few creations; the first runs with cold code.
timing creation_times(const compiled_case &c) {
    constexpr std::size_t max_samples = 15;
    constexpr double max_total_ms = 20;
    std::vector<double> samples;
    const auto start = clock::now();
    while (samples.empty() || (samples.size() < max_samples && milliseconds_since(start) < max_total_ms))
        samples.push_back(milliseconds_of([&] { make_program(c.what, c.s, c.drawn); }));
    return summarize(std::move(samples));
}

/// Measures dynquant first, then the peers. All write the same dst, so that its address favours none.
outcome measure_case(compiled_case &c, phase_times &times) {
    workspace w = timed(times.fill, [&] { return c.make_workspace(filling::measuring); });
    outcome result {case_state::executed};
    auto &m = result.measured.emplace();
    m.ran = c.ran;
    m.creation = timed(times.create, [&] { return creation_times(c); });
    m.elements = c.s.volume();
    m.input_bytes = w.input_bytes();
    m.output_bytes = w.output_bytes();

    c.program->bind(w.handles());
    std::vector<contestant *> contestants {c.program.get()};
    std::vector<peer_or_reason> attempts;
    for (const auto kind : c.what.peers) {
        const auto &attempt = attempts.emplace_back(try_make_peer(kind, c.task_for(w, w.dst())));
        m.peers.push_back({kind, {}, attempt.absent});
        if (attempt.instance)
            contestants.push_back(attempt.instance.get());
        else
            result.notes.push_back(concat(name_of(kind), ' ', attempt.reason));
    }
    auto limits = c.what.limits;
    if (c.what.mode == run_mode::fast) limits.milliseconds = fast_milliseconds;
    std::function<void()> before_each;
    if (c.what.cache == cache_state::cold) before_each = [&] { evict(w.memory()); };
    const auto timings = timed(times.measure, [&] { return measure(contestants, limits, before_each); });
    m.own = timings[0];
    for (std::size_t i = 0, next = 1; i < attempts.size(); ++i)
        if (attempts[i].instance) m.peers[i].time = timings[next++];
    return result;
}

outcome run_compiled(const test_case &what, phase_times &times) {
    compiled_case c = timed(times.create, [&] { return compiled_case(what); });

    outcome result {case_state::executed};
    if (what.mode == run_mode::initialization) result.state = case_state::initialized;
    if (what.mode == run_mode::bitwise) result = check_bitwise(c, times);
    if (what.mode == run_mode::run) result = execute_once(c, times);
    if (what.mode == run_mode::correctness || what.mode == run_mode::correctness_and_performance)
        result = check(c, times);
    if (what.mode == run_mode::performance || what.mode == run_mode::fast) result = measure_case(c, times);
    if (what.mode == run_mode::correctness_and_performance) result.measured = measure_case(c, times).measured;
    result.ran = c.ran;
    return result;
}

/// Whether an implementation may run, by its name.
bool admits(const implementation_filter &filter, const std::string &name) {
    const bool named =
            std::ranges::any_of(filter.names, [&](const auto &part) { return name.find(part) != std::string::npos; });
    return named != filter.skips;
}

/// Whether dynquant takes the case.
bool is_taken(const test_case &c) {
    try {
        require_consistent(c);
        const scoped_choice choice(c);
        compiled_case {c};
        return true;
    } catch (const std::exception &) {
        return false;
    }
}

/// Changes that may let dynquant take a case.
constexpr void (*changes[])(test_case &) = {
        [](test_case &c) { c.api = api_kind::direct; },
        [](test_case &c) { c.rule = rule_kind::onnx; },
        [](test_case &c) { c.op = quantizes(c.op) ? op_kind::DynamicQuantize : op_kind::DynamicDequantize; },
        [](test_case &c) {
            if (c.dst_layout.is_any()) c.dst_layout = {};
        },
        [](test_case &c) { std::erase_if(c.peers, computes); },
        [](test_case &c) { c.kernel = kernel_choice::automatic; },
};

/// For a message: the fewest options by which dynquant takes a case that it refused. Empty if there are none.
std::string what_takes(const test_case &refused) {
    std::vector<void (*)(test_case &)> possible;
    for (const auto change : changes) {
        test_case c = refused;
        change(c);
        if (!(c == refused)) possible.push_back(change);
    }
    std::vector<unsigned> sets((1U << possible.size()) - 1);
    std::iota(sets.begin(), sets.end(), 1U);
    std::ranges::stable_sort(sets, {}, [](unsigned set) { return std::popcount(set); });
    for (const auto set : sets) {
        test_case c = refused;
        for (std::size_t i = 0; i < possible.size(); ++i)
            if (set >> i & 1) possible[i](c);
        const auto options = changed_options(refused, c);
        c.mode = run_mode::initialization; // no memory for src and dst
        if (is_taken(c)) return concat("; it runs with ", options);
    }
    return "";
}

outcome classify(const test_case &c, const dynquant::error &e) {
    using dynquant::status;
    switch (e.status) {
        case status::unimplemented:
            // This kernel computes some statements only.
            if (c.kernel == kernel_choice::onednn) return {case_state::skipped, concat("kernel refuses: ", e.what())};
            return {case_state::unimplemented, e.what()};
        case status::invalid_arguments:
        case status::invalid_shape:
        case status::invalid_data_type: return {case_state::invalid_arguments, e.what() + what_takes(c)};
        default: return {case_state::failed, concat(to_string(e.status), ": ", e.what())};
    }
}

/// The given limit, then the weaker instruction sets of this processor, the strongest first.
std::vector<std::optional<dynquant::isa>> limits_from(std::optional<dynquant::isa> strongest) {
    using dynquant::targets::of, dynquant::targets::has;
    const auto available = dynquant::targets::of_processor();
    std::vector<std::optional<dynquant::isa>> all {strongest};
    auto known = words<std::optional<dynquant::isa>>; // the weakest first
    std::ranges::reverse(known);
    for (const auto &[name, limit] : known) {
        if (!limit || !has(available, of(*limit))) continue;
        if (!strongest || (limit != strongest && has(of(*strongest), of(*limit)))) all.push_back(limit);
    }
    return all;
}

/// Runs the case by the first of dynquant's implementations that its filter lets run.
outcome run_filtered(const test_case &c, phase_times &times) {
    std::vector<kernel_choice> kernels {c.kernel};
    if (c.kernel == kernel_choice::automatic)
        kernels.insert(kernels.end(), {kernel_choice::onednn, kernel_choice::reference});
    std::vector<std::string> passed_over;
    for (const auto kernel : kernels)
        for (const auto limit : limits_from(c.isa)) {
            test_case one = c;
            one.kernel = kernel;
            one.isa = limit;
            const scoped_choice choice(one);
            if (!passed_over.empty() && !is_taken(one)) continue; // the first one's refusal is told
            const auto ran = compiled_case(one).ran;
            const auto name = concat(to_string(ran.kernel), ':', ran.isa);
            if (admits(c.implementations, name)) return run_compiled(one, times);
            if (std::ranges::count(passed_over, name) == 0) passed_over.push_back(name);
        }
    std::string names;
    for (const auto &name : passed_over)
        names += (names.empty() ? "" : ", ") + name;
    return {case_state::skipped,
            concat("--", c.implementations.skips ? "skip-impl" : "impl", " leaves none of ", names)};
}

} // namespace

outcome run_case(const test_case &c, phase_times &times) {
    if (c.mode == run_mode::list) return {case_state::listed};
    if (c.isa && !dynquant::targets::has(dynquant::targets::of_processor(), dynquant::targets::of(*c.isa)))
        return {case_state::skipped, concat("the processor has no ", name_of(c.isa))};
    try {
        const scoped_choice choice(c);
        return in_arena(c.threads,
                [&] { return c.implementations.names.empty() ? run_compiled(c, times) : run_filtered(c, times); });
    } catch (const usage_error &e) {
        return {case_state::invalid_arguments, e.what() + what_takes(c)};
    } catch (const dnnl::error &e) {
        return classify(c, {dynquant::from_onednn(e.status), e.message});
    } catch (const dynquant::error &e) {
        return classify(c, e);
    } catch (const not_enough_memory &e) {
        return {case_state::failed, concat("not enough memory: ", e.what())};
    } catch (const std::bad_alloc &) {
        return {case_state::failed, "not enough memory"};
    }
}

} // namespace dqbench

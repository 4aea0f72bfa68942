#include "report.hpp"

#include <cmath>
#include <cstdio>

#include "quantization/text.hpp"

namespace dqbench {

using dynquant::concat;

namespace {

constexpr std::size_t max_listed_failures = 10;
constexpr std::size_t min_cases_for_progress = 20;

const char *name_of(case_state state) {
    switch (state) {
        case case_state::listed: return "LISTED";
        case case_state::skipped: return "SKIPPED";
        case case_state::invalid_arguments: return "INVALID_ARGUMENTS";
        case case_state::unimplemented: return "UNIMPLEMENTED";
        case case_state::initialized: return "INITIALIZED";
        case case_state::executed: return "EXECUTED";
        case case_state::passed: return "PASSED";
        case case_state::compared: return "COMPARED";
        case case_state::mistrusted: return "MISTRUSTED";
        case case_state::failed: break;
    }
    return "FAILED";
}

bool is_failure(case_state state) {
    return state == case_state::failed || state == case_state::unimplemented || state == case_state::invalid_arguments;
}

} // namespace

std::string result_line(std::size_t index, const job &j, const outcome &o, double milliseconds) {
    std::string line = concat(index, ':', name_of(o.state));
    if (o.ran) line += concat(" (", dynquant::to_string(o.ran->kernel), ':', o.ran->isa, ')');
    if (!o.reason.empty()) line += concat(" (", o.reason, ')');
    if (o.ran) line += concat(" (", std::lround(milliseconds), " ms)");
    return concat(line, " __REPRO: ", repro(j));
}

std::string warning_of_noise(const timing &t) {
    constexpr double usual = 1.5; // on an idle machine the average is within a fifth of the least
    if (!(t.least > 0 && t.average > usual * t.least)) return "";
    char text[128];
    std::snprintf(text, sizeof text,
            "the machine is busy: the average is %.3g times the least time and says little; compare least times",
            t.average / t.least);
    return text;
}

report::report(std::size_t jobs, const run_settings &settings)
    : jobs_(jobs)
    , settings_(settings)
    , progress_(static_cast<double>(jobs), jobs >= min_cases_for_progress) {}

void report::announce(const job &j) {
    if (settings_.verbose < 1) return;
    progress_.hide();
    std::printf("run: %s\n", repro(j).c_str());
    std::fflush(stdout);
}

void report::print(std::size_t index, const job &j, const outcome &o, double milliseconds) {
    ++counts_[static_cast<std::size_t>(o.state)];
    if (o.ran) ++implementations_[concat(dynquant::to_string(o.ran->kernel), ':', o.ran->isa)];
    const auto line = result_line(index, j, o, milliseconds);
    if (is_failure(o.state)) failures_.push_back(line);

    progress_.hide();
    const bool only_measured = o.measured && o.state == case_state::executed;
    if (!only_measured) std::puts(line.c_str());
    for (const auto &note : o.notes)
        std::printf("    %s\n", note.c_str());
    if (o.measured) print_measurement(index, j, *o.measured);
    std::fflush(stdout);
    progress_.show(static_cast<double>(index + 1));
}

void report::print_measurement(std::size_t index, const job &j, const measurement &m) {
    const auto header = j.report.header();
    if (header != perf_header_) std::printf("Output template: %s\n%s\n", j.report.text().c_str(), header.c_str());
    perf_header_ = header;
    std::puts(j.report.line(j.what, index, m).c_str());
    if (const auto warning = warning_of_noise(m.own); !warning.empty()) std::printf("    %s\n", warning.c_str());
    measured_ = true;
    least_total_ += m.own.least;
    average_total_ += m.own.average;
}

void report::print_implementations() const {
    if (settings_.summary.implementations) {
        std::puts("implementations:");
        for (const auto &[name, count] : implementations_)
            std::printf("%-24s %d\n", name.c_str(), count);
    }
    if (settings_.summary.implementations_as_csv)
        for (const auto &[name, count] : implementations_)
            std::printf("impl,%s,%d\n", name.c_str(), count);
}

void report::print_summary(const phase_times &times) {
    if (settings_.summary.failures) {
        if (!failures_.empty()) std::puts("failures:");
        for (std::size_t i = 0; i < failures_.size() && i < max_listed_failures; ++i)
            std::puts(failures_[i].c_str());
        if (failures_.size() > max_listed_failures)
            std::printf("(and %zu more)\n", failures_.size() - max_listed_failures);
    }
    print_implementations();

    std::printf("tests:%zu passed:%d skipped:%d mistrusted:%d unimplemented:%d "
                "invalid_arguments:%d failed:%d listed:%d\n",
            jobs_,
            count(case_state::passed) + count(case_state::compared) + count(case_state::executed)
                    + count(case_state::initialized),
            count(case_state::skipped), count(case_state::mistrusted), count(case_state::unimplemented),
            count(case_state::invalid_arguments), count(case_state::failed), count(case_state::listed));
    if (measured_) std::printf("total perf: min(ms):%g avg(ms):%g\n", least_total_, average_total_);

    const double total = milliseconds_since(start_) / 1e3;
    std::printf("total: %.2fs;", total);
    const auto part = [&](const char *name, double seconds) {
        if (seconds > 0) std::printf(" %s: %.2fs (%.0f%%);", name, seconds, 100 * seconds / total);
    };
    part("create", times.create);
    part("fill", times.fill);
    part("execute", times.execute);
    part("compare", times.compare);
    part("measure", times.measure);
    std::puts("");
}

bool report::has_failures() const {
    return !failures_.empty();
}

} // namespace dqbench

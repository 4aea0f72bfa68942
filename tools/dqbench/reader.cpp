#include "reader.hpp"

#include <algorithm>

#include "batch.hpp"
#include "benchdnn/knobs.hpp"
#include "json_graph/read.hpp"
#include "pattern.hpp"
#include "quantization/text.hpp"
#include "text_parsing.hpp"

namespace dqbench {

using dynquant::concat;

namespace {

/// Options that act on the reader or the run, not on a case.
constexpr const char *commands[] = {"batch", "case", "graph", "help", "match", "perf-template", "reorder",
        "repeats-per-prb", "reset", "start", "summary", "verbose", "version"};
constexpr const char *of_run[] = {"start", "summary", "verbose"}; // wherever they stand
constexpr const char *without_value[] = {"graph", "help", "reorder", "reset", "version"};

/// Options of a problem that --reorder's own ones decide.
constexpr const char *decided_by_reorder[] = {"op", "dt", "qtype", "axis", "group", "scales", "zps", "global-scale"};

/// Those that a graph decides.
constexpr const char *decided_by_graph[] = {
        "op", "qtype", "axis", "group", "scales", "zps", "global-scale", "stag", "dtag"};

constexpr const char *graph_decides =
        "expected options of benchdnn's graph driver after --graph: the graph, --op-attrs and --in-shapes say this";

bool is_one_of(const std::string &word, const auto &names) {
    return std::find(std::begin(names), std::end(names), word) != std::end(names);
}

std::string nearest_option(const std::string &name) {
    std::vector<std::string> known;
    for (const auto &o : options())
        known.push_back(concat("--", o.name));
    for (const auto *command : commands)
        known.push_back(concat("--", command));
    for (const auto &rewriting : json_graph::rewritings())
        known.push_back(concat("--", rewriting.name));
    for (const auto &knob : benchdnn::knob_names())
        known.push_back(concat("--", knob));
    return dynquant::suggest(name, known);
}

/// A hint at a file of nearly that name in the same folder, perhaps with .json after it.
std::string nearest_file(const std::filesystem::path &file) {
    std::error_code failure;
    std::vector<std::string> known, without_extension;
    const auto folder = file.has_parent_path() ? file.parent_path() : std::filesystem::path(".");
    for (const auto &entry : std::filesystem::directory_iterator(folder, failure)) {
        known.push_back(entry.path().filename().string());
        without_extension.push_back(entry.path().stem().string());
    }
    if (file.has_extension()) return dynquant::suggest(file.filename().string(), known);
    const auto hint = dynquant::suggest(file.filename().string(), without_extension);
    for (std::size_t i = 0; i < known.size(); ++i)
        if (hint.find(concat('\'', without_extension[i], '\'')) != hint.npos)
            return concat(" (did you mean '", known[i], "'?)");
    return "";
}

bool has_one_of_the_four(const json_graph::graph &g) {
    return std::ranges::any_of(g.ops, [](const json_graph::op &each) { return each.supported_kind.has_value(); });
}

bool is_problem(const std::string &argument) {
    // "-5x3" is a bad problem, "-mode" a bad option.
    return argument.empty() || argument[0] != '-' || (argument.size() > 1 && argument[1] >= '0' && argument[1] <= '9');
}

} // namespace

std::string repro(const job &j) {
    return j.unsupported.empty() ? repro(j.what) : j.origin;
}

void reader::read_arguments(const std::vector<std::string> &arguments) {
    for (const auto &argument : arguments)
        read(argument);
    note_what_has_no_effect();
}

/// Nothing that was given is lost without a word.
void reader::note_what_has_no_effect() {
    if (problems_ == 0) return; // the caller refuses that
    if (!waiting_.empty()) {
        std::string options;
        for (const auto &each : waiting_)
            options += concat(' ', each);
        note(concat("no problem is after", options, ": no effect, as an option holds for the problems after it"));
    }
    if (!jobs_.empty()) return;
    note(match_ ? concat("no case matched --match=", match_text_)
                : "no case to run: no graph has DynamicQuantize, DynamicDequantize, Quantize or Dequantize");
}

void reader::read(const std::string &argument) {
    if (is_problem(argument)) return read_problem(argument);
    const auto equals = argument.find('=');
    const auto name = argument.substr(0, equals);
    if (equals == std::string::npos) return read_option(name, nullptr);
    const auto value = argument.substr(equals + 1);
    read_option(name, &value);
}

void reader::read_option(const std::string &name, const std::string *value) {
    if (name.starts_with("-v") && name.find_first_not_of("0123456789.-", 2) == name.npos && !value) {
        const auto level = name.substr(2);
        return read_option("--verbose", &level);
    }
    const auto word = name.starts_with("--") ? name.substr(2) : "";
    const bool is_rewriting = json_graph::rewrites::has(word) && (word != "dt" || driver_ == "graph");
    const bool is_reorder = driver_ == "reorder" && benchdnn::reorder::has(word);
    if (is_one_of(word, commands) || find_option(word) || is_rewriting || is_reorder) {
        const bool takes_value = !is_one_of(word, without_value);
        if (takes_value != (value != nullptr))
            throw usage_error(concat(name, takes_value ? ": expected a value, as in " : ": expected no value, as in ",
                    name, takes_value ? "=VALUE" : ""));
        return read_command(word, value);
    }
    if (driver_ == "graph" && benchdnn::reorder::has(word)) throw usage_error(concat(name, ": ", graph_decides));
    if (!word.empty() && !value) benchdnn::refuse_other_drivers(word);
    const auto translated = benchdnn::translate(word, value);
    if (!translated) throw usage_error(concat("unknown option '", name, "'", nearest_option(name)));
    if (!translated->note.empty()) note(translated->note);
    if (translated->option) read_option(concat("--", translated->option), &translated->value);
}

void reader::read_command(const std::string &word, const std::string *value) {
    if (word == "help") {
        help_ = true;
    } else if (word == "version") {
        version_ = true;
    } else if (word == "graph" || word == "reorder") {
        read_driver(word);
    } else if (word == "reset") {
        settings_.reset();
        rewrites_ = {};
        reorder_ = {};
    } else if (word == "batch") {
        read_batch(*value);
    } else if (word == "case") {
        read_graph(*value);
    } else {
        const bool is_of_run = is_one_of(word, of_run);
        // Batch files end with a default to restore the state.
        const auto *const setting = find_option(word);
        const bool is_default = value->empty() || (setting && *value == setting->show({}));
        if (!is_of_run && !is_default) waiting_.push_back(concat("--", word, '=', *value));
        try {
            if (!is_of_run && read_setting(word, *value)) return;
            if (word == "perf-template") report_ = perf_template::parse(*value);
            if (word == "match") match_ = parse_pattern(match_text_ = *value);
            if (word == "verbose") run_.verbose = static_cast<int>(parse_integer(*value, 0, INT32_MAX));
            if (word == "start") run_.start = static_cast<std::size_t>(parse_integer(*value, 0, INT64_MAX));
            if (word == "summary") parse_summary(*value, run_.summary);
            if (word == "repeats-per-prb")
                repeats_ = static_cast<std::size_t>(std::max<std::int64_t>(parse_integer(*value, 0, INT32_MAX), 1));
        } catch (const usage_error &e) {
            throw usage_error(concat("--", word, ": ", e.what()));
        }
    }
}

/// Sets an option of problems or graphs.
bool reader::read_setting(const std::string &word, const std::string &value) {
    if (driver_ == "reorder" && benchdnn::reorder::has(word)) return reorder_.set(word, value), true;
    if (driver_ == "reorder" && is_one_of(word, decided_by_reorder))
        throw usage_error(
                "expected options of benchdnn's reorder driver after --reorder: --sdt, --ddt, --attr-scales and "
                "--attr-zero-points say this");
    if (driver_ == "reorder" && json_graph::rewrites::has(word))
        throw usage_error("expected --graph before it, given --reorder, which has no such option");
    if (driver_ == "graph" && is_one_of(word, decided_by_graph)) throw usage_error(graph_decides);
    if (word == "tensor-property") note("--tensor-property: no effect: dqbench binds all tensors before each run");
    if (word == "op-kind") note("--op-kind: no effect: dqbench runs none of these ops");
    // oneDNN's batch files have mistakes in lines of other ops, so that read_graph() judges them.
    if (driver_ == "graph" && json_graph::rewrites::has(word)) return rewrites_.set_unchecked(word, value), true;
    if (json_graph::rewrites::has(word) && word != "dt") return rewrites_.set(word, value), true;
    if (word == "dt" && !value.empty() && (value.find('+') != value.npos || split(value, ':').size() < 4))
        throw usage_error(
                concat("expected SRC:SCALES:ZPS:DST, such as f32:f32:s32:u8 or f32:f32:undef:s8; a graph's types "
                       "are given after --graph, given '",
                        value, "'"));
    const auto *which = find_option(word);
    if (which) settings_.set(*which, value);
    return which != nullptr;
}

/// A run has one driver, as in benchdnn.
void reader::read_driver(const std::string &word) {
    if (!driver_.empty() && driver_ != word)
        throw usage_error(concat("--", word, ": expected one driver, given --", driver_, " before it"));
    const auto refuse = [&](const char *name, const char *decide) {
        throw usage_error(concat("--", word, ": expected no --", name, " before it, which ", decide));
    };
    if (word == "reorder") {
        for (const auto *name : decided_by_reorder)
            if (settings_.has(*find_option(name)))
                refuse(name, "--sdt, --ddt, --attr-scales and --attr-zero-points decide");
        for (const auto &each : json_graph::rewritings())
            if (rewrites_.is_set(each.name)) refuse(each.name, "is of --graph");
    } else {
        for (const auto *name : decided_by_graph)
            if (settings_.has(*find_option(name))) refuse(name, "the graph, --op-attrs and --in-shapes decide");
    }
    driver_ = word;
}

void reader::read_problem(const std::string &text) {
    if (driver_ == "graph") throw usage_error(concat("expected --case=FILE after --graph, given '", text, "'"));
    ++problems_;
    waiting_.clear();
    if (driver_ != "reorder") return add_cases(settings_, parse_problem(text));
    for (const auto &planned : reorder_.plans_for(text))
        add_reorder(planned);
}

void reader::add_cases(const settings &state, const problem &prb, const std::string &origin) {
    for (const auto &c : state.cases_for(prb))
        add({c, report_, "", origin});
}

/// What the operators cannot do becomes a job that says so.
void reader::add_reorder(const benchdnn::reorder::planned &planned) {
    const auto &plan = planned.plan;
    const auto refuse = [&](const std::string &why) {
        add({{}, report_, concat(plan.subject, ": ", why), planned.arguments});
    };
    if (!plan.unsupported.empty()) return refuse(plan.unsupported);
    try {
        settings state = settings_;
        for (const auto &[name, value] : plan.options)
            state.set(*find_option(name), value);
        add_cases(state, parse_problem(plan.problem), planned.arguments);
    } catch (const usage_error &e) {
        refuse(e.what());
    }
}

/// A pattern is searched in what is printed after __REPRO:, and in the line that benchdnn would print for a reorder or
/// a graph.
void reader::add(const job &j) {
    const auto has_match = [&](const std::string &text) { return std::regex_search(text, *match_); };
    if (match_ && !has_match(repro(j)) && (j.origin.empty() || !has_match(j.origin))) return;
    jobs_.push_back(j);
    jobs_.back().repeats = repeats_;
}

void reader::note(const std::string &text) {
    if (std::find(notes_.begin(), notes_.end(), text) == notes_.end()) notes_.push_back(text);
}

void reader::read_batch(const std::string &name) {
    const auto file = find_input("batch", name);
    if (std::find(including_.begin(), including_.end(), file) != including_.end())
        throw usage_error(concat("batch file '", file.string(), "' includes itself"));
    const auto words = read_batch_file(file);
    including_.push_back(file);
    for (const auto &word : words) {
        const auto depth = including_.size();
        try {
            read(word.text);
        } catch (const usage_error &e) {
            // The innermost file has added the place already.
            if (depth != including_.size()) throw;
            throw usage_error(concat(file.string(), ':', word.line, ": ", e.what()));
        }
    }
    including_.pop_back();
}

void reader::read_graph(const std::string &name) {
    if (driver_ == "reorder")
        throw usage_error(concat("expected dims, as in 2x64x3x3, after --reorder, given --case=", name));
    const auto as_written = json_graph::read_graph(find_input("JSON", name).string());
    ++problems_;
    waiting_.clear();
    if (auto others = json_graph::describe_other_ops(as_written); !others.empty()) note(others);
    std::vector<json_graph::graph> graphs;
    try {
        graphs = rewrites_.apply(as_written);
    } catch (const usage_error &e) {
        if (driver_ != "graph" || has_one_of_the_four(as_written)) throw;
        return note(concat(as_written.file, ": ", e.what())); // no op of it would run
    }
    for (const auto &g : graphs) {
        for (const auto &each : g.notes) {
            if (driver_ != "graph") throw usage_error(each);
            note(each); // as oneDNN's batch files name tensors that their graphs have not
        }
        for (const auto &p : json_graph::plan_cases(g))
            add_plan(g, p);
    }
}

/// The graph's settings override the options, except for the fpmath mode, as in benchdnn.
void reader::add_plan(const json_graph::graph &g, const json_graph::plan &p) {
    if (!p.unsupported.empty()) return add({{}, report_, concat(p.subject, ": ", p.unsupported), g.arguments});
    try {
        settings state = settings_;
        const auto *fpmath = find_option("fpmath-mode");
        if (!state.has(*fpmath)) state.set(*fpmath, g.fpmath_mode);
        for (const auto &[name, value] : p.options)
            state.set(*find_option(name), value);
        add_cases(state, parse_problem(p.problem), g.arguments);
    } catch (const usage_error &e) {
        throw usage_error(concat(g.file, ": ", p.subject, ": ", e.what()));
    }
}

std::filesystem::path reader::find_input(const char *kind, const std::string &name) const {
    const auto beside = including_.empty() ? std::filesystem::path() : including_.back().parent_path();
    std::string tried, nearest;
    std::vector<std::filesystem::path> files {beside / name, inputs_ / name};
    if (!driver_.empty()) files.push_back(inputs_ / driver_ / name);
    constexpr std::string_view documented = "inputs/"; // benchdnn's pages write inputs/reorder/test_reorder_all
    if (name.starts_with(documented)) files.push_back(inputs_ / name.substr(documented.size()));
    if (!own_.empty() && own_ != inputs_) files.push_back(own_ / name);
    for (const auto &file : files) {
        std::error_code failure;
        const auto canonical = std::filesystem::weakly_canonical(file, failure);
        if (!failure && std::filesystem::exists(canonical, failure)) return canonical;
        if (std::filesystem::exists(file, failure)) return file; // a pipe of the shell, whose link names no file
        tried += concat(tried.empty() ? "" : ", nor ", file.string());
        if (nearest.empty()) nearest = nearest_file(file);
    }
    throw usage_error(concat(kind, " file '", name, "' was not found: there is no ", tried, nearest));
}

} // namespace dqbench

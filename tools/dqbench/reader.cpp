#include "reader.hpp"

#include <algorithm>

#include "batch.hpp"
#include "json_graph/read.hpp"
#include "pattern.hpp"
#include "quantization/text.hpp"
#include "text_parsing.hpp"

namespace dqbench {

using dynquant::concat;

namespace {

/// Options that act on the reader, not on a case.
constexpr const char *commands[] = {
        "batch", "case", "help", "in-shapes", "match", "op-attrs", "perf-template", "reset", "version"};

std::string nearest_option(const std::string &name) {
    std::vector<std::string> known;
    for (const auto &o : options())
        known.push_back(concat("--", o.name));
    for (const auto *command : commands)
        known.push_back(concat("--", command));
    return dynquant::suggest(name, known);
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
    const bool known = name.compare(0, 2, "--") == 0;
    const auto word = known ? name.substr(2) : "";
    const auto *which = find_option(word);
    const bool command = std::find(std::begin(commands), std::end(commands), word) != std::end(commands);
    if (!which && !command) throw usage_error(concat("unknown option '", name, "'", nearest_option(name)));

    const bool takes_value = word != "help" && word != "reset" && word != "version";
    if (takes_value != (value != nullptr))
        throw usage_error(concat(name, takes_value ? ": expected a value, as in " : ": expected no value, as in ", name,
                takes_value ? "=VALUE" : ""));
    if (word == "help") {
        help_ = true;
    } else if (word == "version") {
        version_ = true;
    } else if (word == "reset") {
        settings_.reset();
        rewrites_ = {};
    } else if (word == "batch") {
        read_batch(*value);
    } else if (word == "case") {
        read_graph(*value);
    } else {
        try {
            if (which) settings_.set(*which, *value);
            if (word == "in-shapes") rewrites_.set_in_shapes(*value);
            if (word == "op-attrs") rewrites_.set_op_attrs(*value);
            if (word == "perf-template") report_ = perf_template::parse(*value);
            if (word == "match") match_ = parse_pattern(*value);
        } catch (const usage_error &e) {
            throw usage_error(concat(name, ": ", e.what()));
        }
    }
}

void reader::read_problem(const std::string &text) {
    const auto prb = parse_problem(text);
    ++problems_;
    add_cases(settings_, prb);
}

void reader::add_cases(const settings &state, const problem &prb) {
    for (const auto &c : state.cases_for(prb))
        add({c, report_});
}

void reader::add(const job &j) {
    if (!match_ || std::regex_search(repro(j), *match_)) jobs_.push_back(j);
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
    const auto as_written = json_graph::read_graph(find_input("JSON", name).string());
    ++problems_;
    if (auto others = json_graph::describe_other_ops(as_written); !others.empty()) notes_.push_back(std::move(others));
    for (const auto &g : rewrites_.apply(as_written))
        for (const auto &p : json_graph::plan_cases(g))
            add_plan(g, p);
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
        add_cases(state, parse_problem(p.problem));
    } catch (const usage_error &e) {
        throw usage_error(concat(g.file, ": ", p.subject, ": ", e.what()));
    }
}

std::filesystem::path reader::find_input(const char *kind, const std::string &name) const {
    const auto beside = including_.empty() ? std::filesystem::path() : including_.back().parent_path();
    std::string tried;
    for (const auto &folder : {beside, inputs_}) {
        std::error_code failure;
        const auto file = folder / name, canonical = std::filesystem::weakly_canonical(file, failure);
        if (!failure && std::filesystem::exists(canonical, failure)) return canonical;
        if (std::filesystem::exists(file, failure)) return file; // a pipe of the shell, whose link names no file
        tried += concat(tried.empty() ? "" : ", nor ", (folder / name).string());
    }
    throw usage_error(concat(kind, " file '", name, "' was not found: there is no ", tried));
}

} // namespace dqbench

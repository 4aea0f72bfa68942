#include "reader.hpp"

#include <algorithm>

#include "batch.hpp"
#include "quantization/text.hpp"
#include "text_parsing.hpp"

namespace dqbench {

using dynquant::concat;

namespace {

/// Options that act on the reading, not on the case.
constexpr const char *commands[] = {"batch", "help", "match", "perf-template", "reset"};

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

    const bool takes_value = word != "help" && word != "reset";
    if (takes_value != (value != nullptr))
        throw usage_error(concat(name, takes_value ? ": expected a value, as in " : ": expected no value, as in ", name,
                takes_value ? "=VALUE" : ""));
    if (word == "help") {
        help_ = true;
    } else if (word == "reset") {
        settings_.reset();
    } else if (word == "batch") {
        read_batch(*value);
    } else {
        try {
            if (which) settings_.set(*which, *value);
            if (word == "perf-template") report_ = perf_template::parse(*value);
            if (word == "match") match_ = std::regex(*value, std::regex::extended);
        } catch (const usage_error &e) {
            throw usage_error(concat(name, ": ", e.what()));
        } catch (const std::regex_error &e) {
            throw usage_error(concat(name, ": expected a regular expression, given '", *value, "': ", e.what()));
        }
    }
}

void reader::read_problem(const std::string &text) {
    const auto prb = parse_problem(text);
    ++problems_;
    for (const auto &c : settings_.cases_for(prb))
        if (!match_ || std::regex_search(repro(c), *match_)) jobs_.push_back({c, report_});
}

void reader::read_batch(const std::string &name) {
    const auto file = find_batch(name);
    if (std::find(including_.begin(), including_.end(), file) != including_.end())
        throw usage_error(concat("batch file '", file.string(), "' includes itself"));
    const auto words = read_batch_file(file);
    including_.push_back(file);
    for (const auto &word : words) {
        const auto depth = including_.size();
        try {
            read(word.text);
        } catch (const usage_error &e) {
            // The innermost file knows where; the ones around it have nothing to add.
            if (depth != including_.size()) throw;
            throw usage_error(concat(file.string(), ':', word.line, ": ", e.what()));
        }
    }
    including_.pop_back();
}

std::filesystem::path reader::find_batch(const std::string &name) const {
    const auto beside = including_.empty() ? std::filesystem::path() : including_.back().parent_path();
    std::string tried;
    for (const auto &folder : {beside, inputs_}) {
        std::error_code failure;
        const auto file = std::filesystem::weakly_canonical(folder / name, failure);
        if (!failure && std::filesystem::exists(file, failure)) return file;
        tried += concat(tried.empty() ? "" : ", nor ", (folder / name).string());
    }
    throw usage_error(concat("batch file '", name, "' was not found: there is no ", tried));
}

} // namespace dqbench

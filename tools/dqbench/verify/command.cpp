#include "command.hpp"

#include <algorithm>
#include <cmath>
#include <fstream>
#include <iostream>
#include <iterator>
#include <set>

#include <CLI/CLI.hpp>

#include "command_line/run.hpp"
#include "digest.hpp"
#include "group.hpp"
#include "pattern.hpp"
#include "progress.hpp"
#include "quantization/environment.hpp"
#include "quantization/text.hpp"
#include "table.hpp"
#include "timing.hpp"
#include "vocabulary.hpp"

namespace dqbench::verify {
namespace {

using command_line::usage_error;
using dynquant::concat;
namespace targets = dynquant::targets;

constexpr const char *introduction =
        R"(Computes seeded statements by the reference kernel and by the native kernel with every instruction set of this
processor, and compares digests of the results with the table in this program. The table is the same on every machine.
It takes less than a minute of one core. docs/reliability.md says what is promised and what is computed.)";

constexpr const char *closing =
        R"(Exit status: 0 where all is equal; 1 where a digest differs: the lines name the cell and its first statement that
differs; 2 for a wrong command line. DYNQUANT_MAX_ISA=scalar|avx2|avx512|neon caps the instruction sets.)";

struct choices {
    std::string only, ways, state;
    bool lists = false, lists_lines = false, prints_table = false, is_long = false;
};

std::regex expression_of(const char *option, const std::string &text) {
    try {
        return parse_pattern(text);
    } catch (const usage_error &e) {
        throw usage_error(concat("verify: ", option, ": ", e.what()));
    }
}

choices parse(int argc, char **argv, std::string &help) {
    choices given;
    CLI::App app(introduction, "dqbench verify");
    app.footer(closing);
    app.add_option("--only", given.only, "Only the cells whose names match this regular expression");
    app.add_option("--ways", given.ways,
            "Only the ways to compute whose names match this regular expression, such as 'avx512$' without and "
            "'avx512' with its threads. The first is compared with the table, the others with the first");
    app.add_flag("--list", given.lists, "Lists the cells, how many statements and results each has, and its digest");
    app.add_flag("--list-statements", given.lists_lines, "Lists each statement behind the name of its cell");
    auto *hours = app.add_flag("--long", given.is_long,
            "Instead: all 2^32 floats by 128 scales, and 10^10 results of the operators; docs/reliability.md says how "
            "long it takes. Can be interrupted and started again");
    app.add_option("--state", given.state,
               "Of --long: the file that keeps which cells are equal. Default: dqbench-verify.state")
            ->needs(hours);
    app.add_flag("--print-table", given.prints_table, "Prints the table, as C++, as the reference computes it");
    app.allow_extras();
    try {
        app.parse(argc, argv);
    } catch (const CLI::Success &) {
        help = app.help();
    } catch (const CLI::ParseError &e) {
        throw usage_error(concat("verify: ", e.what()));
    }
    if (const auto extras = app.remaining(); !extras.empty()) {
        std::vector<std::string> known;
        for (const auto *option : app.get_options())
            for (const auto &name : option->get_lnames())
                known.push_back("--" + name);
        throw usage_error(concat("verify: unknown argument '", extras.front(), "'",
                dynquant::suggest(extras.front().substr(0, extras.front().find('=')), known)));
    }
    if (given.state.empty()) given.state = "dqbench-verify.state";
    // Before the statements of all cells are drawn, which takes a second.
    if (help.empty()) {
        expression_of("--only", given.only);
        expression_of("--ways", given.ways);
    }
    return given;
}

/// All groups. To draw their statements takes a second, which a process does once: the fuzz target asks often.
const std::vector<group> &all_groups(bool is_long) {
    const auto draw = [](auto first, auto second) {
        auto all = first();
        std::ranges::move(second(), std::back_inserter(all));
        return all;
    };
    if (is_long) {
        static const auto drawn = draw(float_groups, long_operator_groups);
        return drawn;
    }
    static const auto drawn = draw(operator_groups, layer_groups);
    return drawn;
}

/// The groups with the cells that --only names.
std::vector<group> chosen_groups(const choices &c) {
    const auto &all = all_groups(c.is_long);
    if (c.only.empty()) return all;
    const auto only = expression_of("--only", c.only);
    std::vector<group> chosen;
    std::vector<std::string> names;
    for (const auto &g : all) {
        names.push_back(g.name);
        group named {g.name, g.sets, {}, g.most_threads};
        std::ranges::copy_if(g.cells, std::back_inserter(named.cells),
                [&](const cell &each) { return std::regex_search(each.name, only); });
        if (!named.cells.empty()) chosen.push_back(std::move(named));
    }
    if (chosen.empty())
        throw usage_error(concat("verify: --only: expected a regular expression that names a cell, given '", c.only,
                "'", dynquant::suggest(c.only, names), "; --list shows the cells"));
    return chosen;
}

std::int64_t results_of(const cell &c) {
    std::int64_t sum = 0;
    for (const auto &s : c.statements)
        sum += s.results;
    return sum;
}

/// 12,345,678
std::string with_commas(std::int64_t number) {
    auto text = std::to_string(number);
    for (auto i = static_cast<std::ptrdiff_t>(text.size()) - 3; i > 0; i -= 3)
        text.insert(static_cast<std::size_t>(i), ",");
    return text;
}

std::string padded(const std::string &text, std::size_t width) {
    return text.size() < width ? text + std::string(width - text.size(), ' ') : text;
}

/// The reference kernel, each instruction set of the processor that the group is compiled for, and the last of these by
/// more threads.
std::vector<way> ways_of(const group &g) {
    std::vector<way> result {{"reference", true}};
    for (const auto &set : g.sets)
        if (targets::has(dynquant::environment::usable_features(), set.needs))
            result.push_back({set.name, false, set.needs});
    auto split = result.back();
    for (split.threads = 2; split.threads <= g.most_threads; ++split.threads)
        result.push_back(split);
    return result;
}

/// "avx2 by 3 threads"
std::string name_of(const way &w) {
    return w.threads == 1 ? w.name : concat(w.name, " by ", w.threads, " threads");
}

/// What the others are compared with.
std::string the_first(const std::vector<way> &ways) {
    return ways.front().is_reference ? "the reference" : name_of(ways.front());
}

/// The ways that --ways names.
std::vector<way> chosen_ways(const group &g, const choices &c) {
    auto ways = ways_of(g);
    if (!c.ways.empty()) {
        const auto chosen = expression_of("--ways", c.ways);
        std::erase_if(ways, [&](const way &w) { return !std::regex_search(name_of(w), chosen); });
    }
    return ways;
}

/// Leaves out the groups that have none of the ways.
void keep_those_with_ways(std::vector<group> &groups, const choices &c) {
    std::vector<std::string> known;
    for (const auto &g : groups)
        for (const auto &w : ways_of(g))
            if (std::ranges::find(known, w.name) == known.end()) known.push_back(w.name);
    std::erase_if(groups, [&](const group &g) { return chosen_ways(g, c).empty(); });
    if (groups.empty())
        throw usage_error(concat("verify: --ways: expected a regular expression that names a way of this processor, ",
                dynquant::alternatives(known, std::identity {}), ", given '", c.ways, "'"));
}

/// Statements of so many results are computed by more threads, too: smaller ones are not split.
constexpr std::int64_t least_split = 1 << 15;

/// What differs in a cell.
struct differences {
    std::string what; // "avx2 differs from the reference"
    std::size_t statements = 0;
    std::string first;
};

struct outcome_of_cell {
    row computed; // by the first way
    std::vector<differences> found;
    std::int64_t results = 0; // by all ways
};

void note(std::vector<differences> &found, const std::string &what, const statement &s) {
    auto known = std::ranges::find(found, what, &differences::what);
    if (known == found.end()) known = found.insert(known, {what, 0, s.line});
    ++known->statements;
}

outcome_of_cell compute(const cell &c, const std::vector<way> &ways) {
    outcome_of_cell result;
    std::vector<digest> digests;
    for (const auto &s : c.statements) {
        const auto computed = s.draw();
        const auto expected = computed(ways.front());
        digests.push_back(expected);
        result.results += s.results;
        for (std::size_t i = 1; i < ways.size(); ++i) {
            if (ways[i].threads > 1 && s.results < least_split) continue;
            result.results += s.results;
            if (computed(ways[i]) != expected)
                note(result.found, concat(name_of(ways[i]), " differs from ", the_first(ways)), s);
        }
    }
    result.computed = row_of(digests);
    return result;
}

/// Adds how the first way differs from the table.
void compare_with_table(const cell &c, const std::vector<way> &ways, outcome_of_cell &computed) {
    const auto found = committed_table().find(c.name);
    const auto count = c.statements.size();
    if (found == committed_table().end()) {
        computed.found.push_back({"the table has no such cell, as", count, c.statements.front().line});
        return;
    }
    const auto &[expected, bytes] = found->second;
    if (expected == computed.computed.all) return;
    differences from_table {
            concat(the_first(ways), " differs from the table"), 0, "(which of them, the table does not tell)"};
    if (bytes.size() == count) {
        for (std::size_t i = 0; i < count; ++i)
            if (bytes[i] != computed.computed.bytes[i] && from_table.statements++ == 0)
                from_table.first = c.statements[i].line;
    }
    computed.found.push_back(from_table);
}

/// The cells that earlier runs of this program with the same instruction sets found equal.
class run_state {
  public:
    /// No file: an empty name.
    run_state(std::string file, const std::string &sets)
        : file_(std::move(file)) {
        if (file_.empty()) return;
        const auto title = concat("dqbench verify --long of build ", build(), ", ", sets);
        std::ifstream before(file_);
        std::string line;
        if (!std::getline(before, line)) {
            append(title);
            return;
        }
        if (line != title)
            throw usage_error(concat("verify: --state: expected a file of this program and processor, '", title,
                    "', given ", file_, " of '", line, "': remove it or name another"));
        while (std::getline(before, line))
            done_.insert(line);
    }

    bool has(const std::string &cell) const { return done_.contains(cell); }
    std::size_t size() const { return done_.size(); }

    void append(const std::string &line) const {
        if (file_.empty()) return;
        std::ofstream out(file_, std::ios::app);
        out << line << std::endl;
        if (!out) throw std::runtime_error(concat("verify: cannot write '", file_, "'"));
    }

  private:
    /// The digest of this program's file.
    static std::string build() {
        std::ifstream program("/proc/self/exe", std::ios::binary);
        std::string bytes {std::istreambuf_iterator<char>(program), {}};
        hasher all;
        all.add(dynquant::data_type::u8, std::as_writable_bytes(std::span(bytes)));
        return to_string(all.value());
    }

    std::string file_;
    std::set<std::string> done_;
};

void list(const std::vector<group> &groups, bool lines) {
    for (const auto &g : groups)
        for (const auto &c : g.cells) {
            if (lines) {
                for (const auto &s : c.statements)
                    std::cout << c.name << ' ' << s.line << '\n';
                continue;
            }
            const auto known = committed_table().find(c.name);
            std::cout << padded(c.name, 48) << ' ' << c.statements.size() << " statements, "
                      << with_commas(results_of(c)) << " results, "
                      << (known == committed_table().end() ? "not in the table" : to_string(known->second.all)) << '\n';
        }
}

/// Rows of --long have no bytes: the floats have 65536 statements.
void print_table(const std::vector<group> &groups, bool is_long) {
    for (const auto &g : groups)
        for (const auto &c : g.cells) {
            auto computed = compute(c, {{"reference", true}}).computed;
            if (is_long) computed.bytes.clear();
            std::cout << '"' << line_of(c.name, computed) << "\"," << std::endl;
        }
}

/// Cells of the table that this program does not have, unless --only or --ways left some out.
std::vector<std::string> missing_cells(const std::vector<group> &groups, const choices &c) {
    std::vector<std::string> missing;
    if (!c.only.empty() || !c.ways.empty()) return missing;
    std::set<std::string> names;
    for (const auto &g : groups)
        for (const auto &each : g.cells)
            names.insert(each.name);
    for (const auto &[name, row] : committed_table())
        if (name.starts_with("long.") == c.is_long && !names.contains(name)) missing.push_back(name);
    return missing;
}

/// Computes everything and compares. Returns whether all is equal.
bool verify(const std::vector<group> &groups, const choices &c) {
    const auto start = clock::now();
    std::vector<std::string> sets;
    double total = 0, done = 0;
    int threads = 1;
    for (const auto &g : groups) {
        for (const auto &w : chosen_ways(g, c)) {
            if (std::ranges::find(sets, w.name) == sets.end()) sets.push_back(w.name);
            threads = std::max(threads, w.threads);
        }
        for (const auto &each : g.cells)
            total += static_cast<double>(results_of(each));
    }
    std::string all_sets;
    for (const auto &set : sets)
        all_sets += (all_sets.empty() ? "" : ", ") + set;
    const run_state state(c.is_long ? c.state : "", all_sets + (c.ways.empty() ? "" : ", --ways=" + c.ways));
    if (state.size() > 0)
        std::cout << "equal before: " << dynquant::counted(state.size(), "cell") << ", " << c.state << std::endl;

    progress shown(total, true);
    std::int64_t results = 0;
    std::size_t cells = 0, different = 0;
    for (const auto &g : groups) {
        const auto group_start = clock::now();
        const auto ways = chosen_ways(g, c);
        std::int64_t of_group = 0;
        std::size_t statements = 0, different_here = 0;
        for (const auto &each : g.cells) {
            statements += each.statements.size();
            if (!state.has(each.name)) {
                auto computed = compute(each, ways);
                compare_with_table(each, ways, computed);
                of_group += computed.results;
                different_here += !computed.found.empty();
                if (computed.found.empty()) state.append(each.name);
                for (const auto &[what, count, first] : computed.found) {
                    shown.hide();
                    std::cout << each.name << ": " << what << " in " << std::max<std::size_t>(count, 1) << " of "
                              << each.statements.size() << " statements; the first:\n    " << first << std::endl;
                }
            }
            done += static_cast<double>(results_of(each));
            shown.show(done);
        }
        shown.hide();
        std::cout << padded(g.name, 32) << ' ' << padded(dynquant::counted(g.cells.size(), "cell"), 10)
                  << padded(dynquant::counted(statements, "statement"), 18)
                  << padded(with_commas(of_group) + " results", 24)
                  << (different_here == 0 ? "equal" : concat(different_here, " of them differ")) << ", "
                  << std::round(milliseconds_since(group_start) / 100) / 10 << " s" << std::endl;
        results += of_group;
        cells += g.cells.size();
        different += different_here;
    }
    const auto missing = missing_cells(groups, c);
    for (const auto &name : missing)
        std::cout << name << ": in the table, but this program has no such cell\n";
    const bool equal = different == 0 && missing.empty();
    if (equal)
        std::cout << "equal: ";
    else
        std::cout << "DIFFERENT: " << different + missing.size() << " of " << cells << " cells; ";
    std::cout << with_commas(results) << " results, " << dynquant::counted(groups.size(), "group") << ", "
              << dynquant::counted(cells, "cell") << "; " << all_sets << "; "
              << (threads == 1 ? "1 thread" : concat("up to ", threads, " threads")) << "; "
              << std::round(milliseconds_since(start) / 100) / 10 << " s\n";
    return equal;
}

} // namespace

int run(int argc, char **argv) {
    std::string help;
    const auto given = parse(argc, argv, help);
    if (!help.empty()) {
        std::cout << help;
        return command_line::success;
    }
    auto groups = chosen_groups(given);
    if (given.lists || given.lists_lines) {
        list(groups, given.lists_lines);
    } else if (given.prints_table) {
        print_table(groups, given.is_long);
    } else {
        keep_those_with_ways(groups, given);
        if (!verify(groups, given)) return command_line::failure;
    }
    return command_line::success;
}

} // namespace dqbench::verify

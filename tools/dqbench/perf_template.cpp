#include "perf_template.hpp"

#include <algorithm>
#include <cctype>

#include "options.hpp"
#include "outcome.hpp"
#include "quantization/text.hpp"
#include "vocabulary.hpp"

namespace dqbench {

using dynquant::concat;

namespace {

constexpr std::string_view default_template = "perf,%kernel%,%isa%,%name%,%prb%,%-time%,%0time%,%spread%,"
                                              "%-Gelems%,%-Gbw%,%-peertime%,%-ratio%";

/// Every field, with medians where there is a choice, and one set of columns for each peer.
const std::string &csv_template() {
    static const std::string text = [] {
        std::string columns =
                "perf,%idx%,%kernel%,%isa%,%api%,%cache%,%threads%,%name%,%op%,%dt%,%fpmath-mode%,%rule%,%division%,"
                "%saturate%,%params%,%qtype%,%axis%,%group%,%stag%,%dtag%,%offset%,%desc%,%~time%,%-time%,%0time%,%+"
                "time%,%spread%,%ibytes%,"
                "%obytes%,%~Gelems%,%~Gbw%,%~ctime%,%~flat%,%peer%,%~peertime%,%~ratio%";
        for (const auto &peer : names_of<peer_kind>())
            columns += concat(",%~peertime:", peer, "%,%~ratio:", peer, '%');
        return columns + ",%prb%";
    }();
    return text;
}

/// Quotes a field of comma-separated values if needed (RFC 4180).
std::string quoted_if_needed(const std::string &value) {
    const bool quoted = !value.empty() && value.front() == '"'; // a name, which holds no quotes inside
    if (quoted || value.find_first_of(",\"") == value.npos) return value;
    std::string text = "\"";
    for (const char c : value)
        text += c == '"' ? "\"\"" : std::string(1, c);
    return text + '"';
}

/// The case and measurement of a line, and the modifiers of one of its fields.
struct subject {
    const test_case &c;
    std::size_t index;
    const measurement &m;
    char statistic, unit;
    std::optional<peer_kind> peer; // the named one, as in %ratio:xnnpack%

    double milliseconds(const timing &t, char otherwise = '-') const {
        switch (statistic ? statistic : otherwise) {
            case '0': return t.average;
            case '~': return t.median;
            case '+': return t.most;
            default: return t.least;
        }
    }
    std::string number(double value) const {
        const double units = unit == 'K' ? 1e3 : unit == 'M' ? 1e6 : unit == 'G' ? 1e9 : 1;
        return concat(value / units);
    }
    const peer_measurement *find(peer_kind kind) const {
        for (const auto &each : m.peers)
            if (each.kind == kind) return &each;
        return nullptr;
    }
    /// f(named peer), or f of every peer that computes, joined by /.
    template <typename F>
    std::string join_peer_values(F &&f) const {
        if (peer) {
            const auto *wanted = find(*peer);
            return wanted ? f(*wanted) : "";
        }
        std::string text;
        bool first = true;
        for (const auto &each : m.peers) {
            if (!computes(each.kind)) continue;
            text += concat(first ? "" : "/", f(each));
            first = false;
        }
        return text;
    }
    std::string percent_of(peer_kind kind) const {
        const auto *found = find(kind);
        const double own = milliseconds(m.own);
        return found && found->time && own > 0 ? concat(100 * milliseconds(*found->time) / own) : "";
    }
    std::string ratio_to(const timing &other) const {
        const double own = milliseconds(m.own);
        return own > 0 ? concat(milliseconds(other) / own) : "";
    }
    static std::string reason_without_time(const peer_measurement &p) { return p.absent ? "absent" : "refused"; }
    std::string rate(std::int64_t count) const {
        const double ms = milliseconds(m.own);
        return ms > 0 ? number(static_cast<double>(count) / ms * 1e3) : "";
    }
};

} // namespace

struct perf_field {
    const char *name;
    const char *help;
    std::string (*value)(const subject &s);
    bool of_a_peer = false; // may name a peer: %ratio:xnnpack%
};

namespace {

const perf_field fields[] = {
        {"api", "the API that dynquant runs through", [](const subject &s) { return std::string(name_of(s.c.api)); }},
        {"axis", "the channels' dim",
                [](const subject &s) { return s.c.qtype == granularity::per_channel ? std::to_string(s.c.axis) : ""; }},
        {"bw", "bytes read and written per second",
                [](const subject &s) { return s.rate(s.m.input_bytes + s.m.output_bytes); }},
        {"cache", "warm or cold", [](const subject &s) { return std::string(name_of(s.c.cache)); }},
        {"ctime", "milliseconds to build and compile, of several times: the most, if no other is chosen",
                [](const subject &s) { return s.number(s.milliseconds(s.m.creation, '+')); }},
        {"ddt", "dst's data type", [](const subject &s) { return std::string(name_of(s.c.types.dst)); }},
        {"desc", "the problem", [](const subject &s) { return dynquant::to_string(s.c.prb.extents); }},
        {"division", "the type of the division", [](const subject &s) { return std::string(name_of(s.c.division)); }},
        {"dt", "data types", [](const subject &s) { return to_string(s.c.types); }},
        {"dtag", "dst's layout", [](const subject &s) { return s.c.dst_layout.to_string(); }},
        {"elems", "elements per second", [](const subject &s) { return s.rate(s.m.elements); }},
        {"fpmath-mode", "the fpmath mode", [](const subject &s) { return std::string(name_of(s.c.fpmath)); }},
        {"flat", "percent of the flat loop: 100 times its time / dynquant's, with --peer=flat",
                [](const subject &s) { return s.percent_of(peer_kind::flat); }},
        {"group", "the group's extents",
                [](const subject &s) {
                    return s.c.qtype == granularity::per_group ? dynquant::to_string(s.c.group) : "";
                }},
        {"ibytes", "bytes read", [](const subject &s) { return s.number(static_cast<double>(s.m.input_bytes)); }},
        {"engine", "cpu", [](const subject &) { return std::string("cpu"); }},
        {"idx", "the number of the case", [](const subject &s) { return std::to_string(s.index); }},
        {"impl", "the kernel and the instruction set that ran",
                [](const subject &s) { return concat(dynquant::to_string(s.m.ran.kernel), ':', s.m.ran.isa); }},
        {"iobytes", "bytes read and written",
                [](const subject &s) { return s.number(static_cast<double>(s.m.input_bytes + s.m.output_bytes)); }},
        {"isa", "the instruction set that ran", [](const subject &s) { return s.m.ran.isa; }},
        {"kernel", "the kernel that ran",
                [](const subject &s) { return std::string(dynquant::to_string(s.m.ran.kernel)); }},
        {"name", "the problem's name",
                [](const subject &s) { return s.c.prb.name.empty() ? "" : concat('"', s.c.prb.name, '"'); }},
        {"obytes", "bytes written", [](const subject &s) { return s.number(static_cast<double>(s.m.output_bytes)); }},
        {"offset", "elements from a multiple of 64 bytes to each buffer",
                [](const subject &s) { return std::to_string(s.c.offset.value_or(0)); }},
        {"op", "the operator", [](const subject &s) { return std::string(name_of(s.c.op)); }},
        {"params", "how parameters are drawn", [](const subject &s) { return std::string(name_of(s.c.parameters)); }},
        {"peer", "the peers, joined by /", [](const subject &s) { return join(s.c.peers, '/'); }},
        {"peertime", "the peers' milliseconds, joined by /; of one peer: %peertime:xnnpack%",
                [](const subject &s) {
                    return s.join_peer_values([&](const peer_measurement &p) {
                        return p.time ? s.number(s.milliseconds(*p.time)) : s.reason_without_time(p);
                    });
                },
                true},
        {"prb", "the arguments that run the case again", [](const subject &s) { return repro(s.c); }},
        {"qtype", "the granularity", [](const subject &s) { return std::string(name_of(s.c.qtype)); }},
        {"ratio", "the peers' times divided by dynquant's, joined by /; of one peer: %ratio:xnnpack%",
                [](const subject &s) {
                    return s.join_peer_values([&](const peer_measurement &p) {
                        if (p.time) return s.ratio_to(*p.time);
                        return s.peer ? s.reason_without_time(p) : "";
                    });
                },
                true},
        {"rule", "whose rounding", [](const subject &s) { return std::string(name_of(s.c.rule)); }},
        {"saturate", "whether floats saturate", [](const subject &s) { return std::string(name_of(s.c.saturate)); }},
        {"scales", "the rule that computes the scales",
                [](const subject &s) -> std::string { return s.c.computed ? name_of(*s.c.computed) : ""; }},
        {"sdt", "src's data type", [](const subject &s) { return std::string(name_of(s.c.types.src)); }},
        {"spread", "the interquartile range of dynquant's times in percent of their median; empty for one time",
                [](const subject &s) {
                    const auto &own = s.m.own;
                    return own.quartile_range && own.median > 0 ? concat(100 * *own.quartile_range / own.median) : "";
                }},
        {"stag", "src's layout", [](const subject &s) { return s.c.src_layout.to_string(); }},
        {"threads", "threads requested", [](const subject &s) { return std::to_string(s.c.threads); }},
        {"time", "milliseconds", [](const subject &s) { return s.number(s.milliseconds(s.m.own)); }},
};

constexpr const char *no_operator_has_it = "no operator of dqbench has it: leave it out";

/// benchdnn's fields that dqbench has not, and what to write instead.
constexpr struct {
    const char *name, *instead;
} fields_of_benchdnn[] = {
        {"activation", no_operator_has_it},
        {"alg", "write %op%"},
        {"attr", "write %qtype%, %axis%, %group% and %dt%"},
        {"bia_dt", no_operator_has_it},
        {"cfg", "write %dt%"},
        {"clocks", "dqbench counts no clocks: write %time%"},
        {"cpdtime", "write %ctime%, the time of the whole creation"},
        {"cptime", "write %ctime%, the time of the whole creation"},
        {"ctx-exe", "write %threads%"},
        {"ctx-init", "write %threads%"},
        {"dir", no_operator_has_it},
        {"direction", no_operator_has_it},
        {"driver", "write %op%"},
        {"flags", no_operator_has_it},
        {"flops", "dqbench counts no operations: write %elems% or %bw%, elements or bytes per second"},
        {"freq", "dqbench counts no clocks: leave it out"},
        {"mb", "write %desc%"},
        {"ops", "dqbench counts no operations: write %iobytes%, the bytes read and written"},
        {"prop", no_operator_has_it},
        {"stat_tag", no_operator_has_it},
        {"tag", "write %stag% and %dtag%"},
        {"wtag", no_operator_has_it},
};

std::string in_lower_case(std::string_view text) {
    std::string lower(text);
    std::ranges::transform(
            lower, lower.begin(), [](unsigned char letter) { return static_cast<char>(std::tolower(letter)); });
    return lower;
}

/// given: the name with its modifiers.
const perf_field &find_field(std::string_view name, std::string_view given) {
    std::vector<std::string> names;
    for (const auto &field : fields) {
        if (name == field.name) return field;
        names.emplace_back(field.name);
    }
    const auto lower = in_lower_case(name);
    for (const auto &each : fields_of_benchdnn)
        if (lower == each.name)
            throw usage_error(concat("'%", given, "%' is a field of benchdnn alone: ", each.instead));
    throw usage_error(concat("unknown field '%", given, "%'", dynquant::suggest(lower, names)));
}

/// Takes c off the front of text when it is one of `known`.
char take_modifier(std::string_view &text, std::string_view known) {
    if (text.empty() || known.find(text.front()) == known.npos) return 0;
    const char modifier = text.front();
    text.remove_prefix(1);
    return modifier;
}

const char *statistic_name(char statistic) {
    switch (statistic) {
        case '-': return "min_";
        case '~': return "median_";
        case '0': return "avg_";
        case '+': return "max_";
        default: return "";
    }
}

} // namespace

perf_template perf_template::parse(std::string_view text) {
    if (text == "def") text = default_template;
    const bool csv = text == "csv";
    if (csv) text = csv_template();
    perf_template result(text);
    result.quotes_ = csv;
    for (;;) {
        const auto start = text.find('%');
        if (start == text.npos) break;
        const auto end = text.find('%', start + 1);
        if (end == text.npos) throw usage_error(concat("expected a % after '", text.substr(start), "'"));
        const auto given = text.substr(start + 1, end - start - 1);
        auto name = given;
        const char statistic = take_modifier(name, "-~0+"), unit = take_modifier(name, "KMG");
        if (unit && !statistic && take_modifier(name, "-~0+"))
            throw usage_error(concat("'%", given, "%': expected -, ~, 0 or + before the unit, as in %",
                    given.substr(1, 1), unit, name, '%'));
        const auto colon = name.find(':');
        const auto &field = find_field(name.substr(0, colon), given);
        std::optional<peer_kind> peer;
        if (colon != name.npos) {
            if (!field.of_a_peer)
                throw usage_error(concat("expected a peer after %peertime: or %ratio: only, given '%", name, "%'"));
            peer = parse_word<peer_kind>(name.substr(colon + 1));
        }
        result.segments_.push_back({std::string(text.substr(0, start)), &field, statistic, unit, peer});
        text.remove_prefix(end + 1);
    }
    result.tail_ = text;
    return result;
}

std::string perf_template::header() const {
    std::string line;
    for (const auto &p : segments_)
        line += concat(p.literal, statistic_name(p.statistic), p.unit ? std::string(1, p.unit) : "", p.field->name,
                p.peer ? concat(':', name_of(*p.peer)) : "");
    return line + tail_;
}

std::string perf_template::line(const test_case &c, std::size_t index, const measurement &m) const {
    std::string line;
    for (const auto &p : segments_) {
        const auto value = p.field->value({c, index, m, p.statistic, p.unit, p.peer});
        line += p.literal + (quotes_ ? quoted_if_needed(value) : value);
    }
    return line + tail_;
}

std::string describe_perf_fields() {
    std::string text;
    for (const auto &field : fields) {
        const std::string name = concat('%', field.name, '%');
        text += concat("  ", name, std::string(name.size() < 16 ? 16 - name.size() : 1, ' '), field.help, '\n');
    }
    return text;
}

} // namespace dqbench

#include "perf_template.hpp"

#include "options.hpp"
#include "vocabulary.hpp"

namespace dqbench {

using dynquant::concat;

namespace {

constexpr std::string_view default_template = "perf,%kernel%,%isa%,%name%,%prb%,%-time%,%~time%,"
                                              "%-Gelems%,%-Gbw%,%-peertime%,%-ratio%";
constexpr std::string_view csv_template =
        "perf,%kernel%,%isa%,%name%,%op%,%dt%,%fpmath-mode%,%params%,%qtype%,%axis%,%stag%,%dtag%,"
        "%threads%,%desc%,%-time%,%~time%,%-Gelems%,%-Gbw%,%peer%,%-peertime%,%~peertime%,%-ratio%";

/// What a line is about, and the modifiers of one field in it.
struct subject {
    const test_case &c;
    std::size_t index;
    const measurement &m;
    char statistic, unit;

    double milliseconds(const timing &t) const {
        switch (statistic) {
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
};

namespace {

const perf_field fields[] = {
        {"axis", "the channels' dim",
                [](const subject &s) { return s.c.qtype == granularity::per_channel ? std::to_string(s.c.axis) : ""; }},
        {"bw", "bytes read and written per second",
                [](const subject &s) { return s.rate(s.m.input_bytes + s.m.output_bytes); }},
        {"ctime", "milliseconds to build and compile", [](const subject &s) { return concat(s.m.creation_ms); }},
        {"desc", "the problem", [](const subject &s) { return dynquant::to_string(s.c.prb.extents); }},
        {"dt", "data types", [](const subject &s) { return to_string(s.c.types); }},
        {"dtag", "dst's layout", [](const subject &s) { return s.c.dst_layout.to_string(); }},
        {"elems", "elements per second", [](const subject &s) { return s.rate(s.m.elements); }},
        {"fpmath-mode", "the fpmath mode", [](const subject &s) { return std::string(name_of(s.c.fpmath)); }},
        {"ibytes", "bytes read", [](const subject &s) { return s.number(static_cast<double>(s.m.input_bytes)); }},
        {"idx", "the number of the case", [](const subject &s) { return std::to_string(s.index); }},
        {"isa", "the instruction set that ran", [](const subject &s) { return s.m.ran.isa; }},
        {"kernel", "the kernel that ran",
                [](const subject &s) { return std::string(dynquant::to_string(s.m.ran.kernel)); }},
        {"name", "the problem's name",
                [](const subject &s) { return s.c.prb.name.empty() ? "" : concat('"', s.c.prb.name, '"'); }},
        {"obytes", "bytes written", [](const subject &s) { return s.number(static_cast<double>(s.m.output_bytes)); }},
        {"op", "the operator", [](const subject &s) { return std::string(name_of(s.c.op)); }},
        {"params", "how parameters are drawn", [](const subject &s) { return std::string(name_of(s.c.parameters)); }},
        {"peer", "the peer", [](const subject &s) { return std::string(name_of(s.c.peer)); }},
        {"peertime", "the peer's milliseconds",
                [](const subject &s) {
                    if (s.m.peer) return concat(s.milliseconds(*s.m.peer));
                    return std::string(s.c.peer == peer_kind::none ? "" : "refused");
                }},
        {"prb", "the arguments that run the case again", [](const subject &s) { return repro(s.c); }},
        {"qtype", "the granularity", [](const subject &s) { return std::string(name_of(s.c.qtype)); }},
        {"ratio", "the peer's time by ours",
                [](const subject &s) {
                    const double own = s.milliseconds(s.m.own);
                    return s.m.peer && own > 0 ? concat(s.milliseconds(*s.m.peer) / own) : "";
                }},
        {"stag", "src's layout", [](const subject &s) { return s.c.src_layout.to_string(); }},
        {"threads", "threads asked for", [](const subject &s) { return std::to_string(s.c.threads); }},
        {"time", "milliseconds", [](const subject &s) { return concat(s.milliseconds(s.m.own)); }},
};

const perf_field &find_field(const std::string &name) {
    std::vector<std::string> names;
    for (const auto &field : fields) {
        if (name == field.name) return field;
        names.emplace_back(field.name);
    }
    throw usage_error(concat("unknown field '%", name, "%'", dynquant::suggest(name, names)));
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
    if (text == "csv") text = csv_template;
    perf_template result(text);
    for (;;) {
        const auto start = text.find('%');
        if (start == text.npos) break;
        const auto end = text.find('%', start + 1);
        if (end == text.npos) throw usage_error(concat("expected a % after '", text.substr(start), "'"));
        auto name = text.substr(start + 1, end - start - 1);
        const char statistic = take_modifier(name, "-~0+"), unit = take_modifier(name, "KMG");
        result.pieces_.push_back({std::string(text.substr(0, start)), &find_field(std::string(name)), statistic, unit});
        text.remove_prefix(end + 1);
    }
    result.tail_ = text;
    return result;
}

std::string perf_template::header() const {
    std::string line;
    for (const auto &p : pieces_)
        line += concat(p.literal, statistic_name(p.statistic), p.unit ? std::string(1, p.unit) : "", p.field->name);
    return line + tail_;
}

std::string perf_template::line(const test_case &c, std::size_t index, const measurement &m) const {
    std::string line;
    for (const auto &p : pieces_)
        line += p.literal + p.field->value({c, index, m, p.statistic, p.unit});
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

#include "options.hpp"

#include <algorithm>
#include <cctype>
#include <limits>
#include <type_traits>

#include "vocabulary.hpp"

namespace dqbench {
namespace {

const test_case defaults;

/// a|b|c
std::string alternatives(const std::vector<std::string> &names) {
    std::string text;
    for (const auto &name : names)
        text += (text.empty() ? "" : "|") + name;
    return text;
}

/// A row for a member whose values are words.
template <auto member>
option word_option(const char *name, const char *help, bool resettable) {
    using value_type = std::decay_t<decltype(defaults.*member)>;
    static const std::string values = alternatives(names_of<value_type>());
    return {name, values.c_str(), help, true, resettable,
            [](test_case &c, std::string_view value) { c.*member = parse_word<value_type>(value); },
            [](const test_case &c) -> std::string { return name_of(c.*member); }};
}

template <auto member>
option layout_option(const char *name, const char *values, const char *help) {
    return {name, values, help, true, true,
            [](test_case &c, std::string_view value) { c.*member = layout::parse(value); },
            [](const test_case &c) { return (c.*member).to_string(); }};
}

void set_src_layout(test_case &c, std::string_view text) {
    c.src_layout = layout::parse(text);
    if (c.src_layout.is_any()) throw usage_error("expected src's layout, given any, which is for dst only");
}

data_types parse_data_types(std::string_view text) {
    const auto parts = split(text, ':');
    if (parts.size() != 4)
        throw usage_error(dynquant::concat("expected SRC:SCALES:ZPS:DST, such as f32:f32:s32:u8 or "
                                           "f32:f32:undef:s8, given '",
                text, "'"));
    data_types types {
            parse_word<data_type>(parts[0]), parse_word<data_type>(parts[1]), {}, parse_word<data_type>(parts[3])};
    types.zps_are_s64 = parts[2] == "s64";
    if (types.zps_are_s64)
        types.zps = data_type::s32;
    else if (parts[2] != "undef")
        types.zps = parse_word<data_type>(parts[2]);
    return types;
}

dynquant::dims parse_group(std::string_view text) {
    auto group = parse_dims(text);
    for (const auto extent : group)
        if (extent < 1) throw usage_error(dynquant::concat("expected extents of 1 or more, given '", text, "'"));
    return group;
}

void set_mode(test_case &c, std::string_view text) {
    std::string upper(text);
    std::transform(upper.begin(), upper.end(), upper.begin(),
            [](unsigned char letter) { return static_cast<char>(std::toupper(letter)); });
    if (upper == "S")
        throw usage_error("expected another mode, given S, of simulators: write --mode=P "
                          "--fix-times-per-prb=1");
    if (upper == "PC") throw usage_error(dynquant::concat("expected CP to check and measure, given '", text, "'"));
    c.mode = parse_word<run_mode>(upper);
}

/// Sets the filter; no names let every implementation run.
template <bool skips>
void set_implementations(test_case &c, std::string_view text) {
    c.implementations = {};
    if (text.empty()) return;
    c.implementations = {skips, split(text, ',')};
    constexpr auto letters = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_:";
    for (const auto &name : c.implementations.names)
        if (name.empty() || name.find_first_not_of(letters) != name.npos)
            throw usage_error(dynquant::concat(
                    "expected names of letters, digits, _ and :, as in ref,native:avx2, given '", text, "'"));
}

template <bool skips>
std::string show_implementations(const test_case &c) {
    std::string text;
    for (const auto &name : c.implementations.names)
        text += (text.empty() ? "" : ",") + name;
    return c.implementations.skips == skips ? text : "";
}

void set_op(test_case &c, std::string_view text) {
    c.op = parse_word<op_kind>(text);
    c.types = quantizes(c.op) ? data_types {data_type::f32, data_type::f32, {}, data_type::s8}
                              : data_types {data_type::s8, data_type::f32, {}, data_type::f32};
}

std::vector<peer_kind> parse_peers(std::string_view text) {
    std::vector<peer_kind> peers;
    if (text == "none") return peers;
    for (const auto &name : split(text, ',')) {
        if (name == "none") throw usage_error(dynquant::concat("expected none alone, given '", text, "'"));
        const auto kind = parse_word<peer_kind>(name);
        if (std::find(peers.begin(), peers.end(), kind) != peers.end())
            throw usage_error(dynquant::concat("expected each peer once, given '", text, "'"));
        peers.push_back(kind);
    }
    return peers;
}

template <typename Value>
Value parse_value(std::string_view text) {
    using limits = std::numeric_limits<Value>;
    if constexpr (std::is_same_v<Value, float>)
        return parse_f32(text);
    else
        return static_cast<Value>(parse_integer(text, limits::min(), limits::max()));
}

/// 0.5x0.25
template <typename Value>
std::string show_values(const std::vector<Value> &values) {
    std::string text;
    for (const auto value : values)
        text += (text.empty() ? "" : "x") + to_shortest(value);
    return text;
}

/// A row for a member that is a list of numbers.
template <auto member>
option values_option(const char *name, const char *help) {
    using value_type = typename std::decay_t<decltype(defaults.*member)>::value_type;
    return {name, "NxNx...", help, true, true,
            [](test_case &c, std::string_view text) {
                (c.*member).clear();
                for (const auto &value : split(text, 'x'))
                    (c.*member).push_back(parse_value<value_type>(value));
            },
            [](const test_case &c) { return show_values(c.*member); }};
}

/// Numbers, or the rule that computes the scales.
void set_scales(test_case &c, std::string_view text) {
    static const option numbers = values_option<&test_case::scales>("scales", "");
    c.computed.reset();
    if (text.empty() || !std::isalpha(static_cast<unsigned char>(text.front()))) return numbers.set(c, text);
    const auto known = rule_names();
    const auto *const rule = dynquant::find_rule(std::string(text));
    if (!rule)
        throw usage_error(dynquant::concat("expected numbers, as in 0.5x0.25, or ",
                dynquant::alternatives(known, std::identity {}), ", given '", text, "'",
                dynquant::suggest(std::string(text), known)));
    c.computed = *rule;
    c.scales.clear();
}

std::vector<option> make_table() {
    static const auto peers = "none|" + alternatives(names_of<peer_kind>()),
                      values_of_scales = "NxNx...|" + alternatives(rule_names());
    constexpr bool how_to_run = false, what_to_run = true, list = true, single = false;
    auto mode = word_option<&test_case::mode>("mode",
            "list; compile; run; check; run twice and compare the bits; measure; check and measure; measure for 10 ms",
            how_to_run);
    mode.list = single;
    mode.set = set_mode;
    auto op = word_option<&test_case::op>("op", "the operator", what_to_run);
    op.set = set_op;
    auto scales = values_option<&test_case::scales>("scales",
            "the scales, which repeat, instead of drawn ones; or the rule by which they and the zero points are "
            "computed from src, which implies --api=direct and --rule=onnx");
    scales.values = values_of_scales.c_str();
    scales.set = set_scales;
    scales.show = [](const test_case &c) -> std::string {
        return c.computed ? name_of(*c.computed) : show_values(c.scales);
    };
    auto src_layout = layout_option<&test_case::src_layout>("stag", "abx|acdb|axb|strides:12x4x1|...", "src's layout");
    src_layout.set = set_src_layout;
    return {
            mode,
            word_option<&test_case::kernel>("kernel", "the kernel to force", how_to_run),
            word_option<&test_case::isa>("isa", "the strongest instruction set to use", how_to_run),
            {"threads", "N", "threads to run in (0: all of the machine)", list, how_to_run,
                    [](test_case &c, std::string_view value) {
                        c.threads = static_cast<int>(parse_integer(value, 0, 1024));
                    },
                    [](const test_case &c) { return std::to_string(c.threads); }},
            word_option<&test_case::api>("api", "dynquant's graph API, or prepare() and run()", how_to_run),
            word_option<&test_case::cache>("cache", "whether a call finds the buffers in the caches", how_to_run),
            {"peer", peers.c_str(), "other libraries that run the statement in the same rounds: A,B,...", single,
                    how_to_run, [](test_case &c, std::string_view value) { c.peers = parse_peers(value); },
                    [](const test_case &c) { return c.peers.empty() ? "none" : join(c.peers, ','); }},
            {"fix-times-per-prb", "N", "rounds to measure (0: as the time allows)", single, how_to_run,
                    [](test_case &c, std::string_view value) {
                        c.limits.times = parse_integer(value, 0, 1'000'000'000);
                    },
                    [](const test_case &c) { return std::to_string(c.limits.times); }},
            {"max-ms-per-prb", "N", "milliseconds to measure for (3000)", single, how_to_run,
                    [](test_case &c, std::string_view value) {
                        c.limits.milliseconds = parse_number(value, 1, 60'000);
                    },
                    [](const test_case &c) { return to_shortest(c.limits.milliseconds); }},
            {"impl", "NAME,...",
                    "run an implementation, as in native:avx2 or reference:scalar, whose name has one of these parts",
                    single, what_to_run, set_implementations<false>, show_implementations<false>},
            {"skip-impl", "NAME,...", "run an implementation whose name has none of these parts", single, what_to_run,
                    set_implementations<true>, show_implementations<true>},
            op,
            {"dt", "SRC:SCALES:ZPS:DST", "data types, ZPS undef for no zero points (f32:f32:undef:s8 or the reverse)",
                    list, what_to_run, [](test_case &c, std::string_view value) { c.types = parse_data_types(value); },
                    [](const test_case &c) { return to_string(c.types); }},
            word_option<&test_case::fpmath>("fpmath-mode", "the graph's fpmath mode", what_to_run),
            word_option<&test_case::rule>("rule", "whose rounding; onnx runs through --api=direct", what_to_run),
            word_option<&test_case::division>("division", "the type of src / scale under --rule=onnx", what_to_run),
            word_option<&test_case::saturate>("saturate", "whether floats saturate, under --rule=onnx", what_to_run),
            word_option<&test_case::data>(
                    "data", "src of a check: around ties, with special values; or normally distributed", what_to_run),
            word_option<&test_case::parameters>("params", "how scales and zero points are drawn", what_to_run),
            scales,
            {"global-scale", "N", "DynamicDequantize's beside scales of f8_e4m3, with --rule=onnx", list, what_to_run,
                    [](test_case &c, std::string_view value) { c.global_scale = parse_f32(value); },
                    [](const test_case &c) { return c.global_scale ? to_shortest(*c.global_scale) : ""; }},
            values_option<&test_case::zps>("zps", "the zero points, which repeat, instead of drawn ones"),
            src_layout,
            {"offset", "N", "elements from a multiple of 64 bytes to each buffer (0; 1 to check)", list, what_to_run,
                    [](test_case &c, std::string_view value) { c.offset = parse_integer(value, 0, 63); },
                    [](const test_case &c) { return c.offset ? std::to_string(*c.offset) : ""; }},
            layout_option<&test_case::dst_layout>("dtag", "abx|acdb|axb|any|strides:12x4x1|...", "dst's layout"),
            word_option<&test_case::qtype>("qtype", "the granularity", what_to_run),
            // These two come last, so that cases which ignore them and are equal otherwise are adjacent; std::unique
            // in cases_for() removes such duplicates.
            {"axis", "N", "the channels' dim for per_channel, negative from the end (1)", list, what_to_run,
                    [](test_case &c, std::string_view value) { c.axis = parse_integer(value, INT64_MIN, INT64_MAX); },
                    [](const test_case &c) { return std::to_string(c.axis); }},
            {"group", "NxN...", "the group's extents for per_group, of the last dims (32)", list, what_to_run,
                    [](test_case &c, std::string_view value) { c.group = parse_group(value); },
                    [](const test_case &c) { return dynquant::to_string(c.group); }},
    };
}

/// Throws for a zero point that its type cannot hold: it would be stored as another value.
void require_valid_zps(const test_case &c) {
    if (c.zps.empty()) return;
    if (!c.types.zps)
        throw usage_error(dynquant::concat(
                "--zps: expected a type of zero points in --dt, given ", to_string(c.types), ", which has none"));
    const auto &t = dynquant::traits(*c.types.zps);
    for (const auto zp : c.zps)
        if (zp < t.lowest || zp > t.highest)
            throw usage_error(dynquant::concat("--zps: expected values of ", t.name, ", given ", zp));
}

void require_valid_types(const test_case &c) {
    if (c.types.zps_are_s64 && is_dynamic(c.op))
        throw usage_error(
                dynquant::concat("--dt: expected zero points of s64 with --op=Quantize or Dequantize alone, whose "
                                 "zero points are an attribute, given --op=",
                        name_of(c.op)));
}

/// ONNX's rounding needs the direct API and a dynamic op: oneDNN Graph has neither the rounding nor all of ONNX's
/// types, and the static ops have their parameters as attributes.
void require_valid_rule(const test_case &c) {
    if (c.rule == rule_kind::onednn) return;
    if (c.api != api_kind::direct)
        throw usage_error(dynquant::concat("--rule=onnx: expected --api=direct, given --api=", name_of(c.api)));
    if (!is_dynamic(c.op))
        throw usage_error(dynquant::concat(
                "--rule=onnx: expected --op=DynamicQuantize or DynamicDequantize, given --op=", name_of(c.op)));
    for (const auto peer : c.peers)
        if (computes(peer))
            throw usage_error(dynquant::concat("--rule=onnx: expected no peer but flat, as the others have "
                                               "oneDNN's rounding, given --peer=",
                    name_of(peer)));
}

/// Computed scales need the direct API: oneDNN Graph's ops take scales.
void require_valid_computed(const test_case &c) {
    if (!c.computed) return;
    const auto refuse = [&](const auto &...text) {
        throw usage_error(dynquant::concat("--scales=", name_of(*c.computed), ": expected ", text...));
    };
    if (c.rule != rule_kind::onnx) refuse("--rule=onnx, given --rule=", name_of(c.rule));
    if (c.api != api_kind::direct) refuse("--api=direct, given --api=", name_of(c.api));
    if (c.op != op_kind::DynamicQuantize) refuse("--op=DynamicQuantize, given --op=", name_of(c.op));
    if (!c.zps.empty()) refuse("no --zps, as zero points are computed, given ", show_values(c.zps));
}

/// oneDNN Graph's ops have no global scale.
void require_valid_global_scale(const test_case &c) {
    if (c.global_scale && (c.op != op_kind::DynamicDequantize || c.rule != rule_kind::onnx))
        throw usage_error(dynquant::concat(
                "--global-scale: expected --op=DynamicDequantize and --rule=onnx, given --op=", name_of(c.op),
                " and --rule=", name_of(c.rule)));
}

/// Mode F has a time of its own.
void require_one_time(const std::map<const option *, std::vector<std::string>> &values) {
    const auto mode = values.find(find_option("mode")), time = values.find(find_option("max-ms-per-prb"));
    if (mode == values.end() || time == values.end()) return;
    test_case c;
    mode->first->set(c, mode->second.front());
    if (c.mode != run_mode::fast) return;
    throw usage_error(dynquant::concat("expected --mode=F, which measures for 10 ms, or --max-ms-per-prb, given both: "
                                       "write --mode=P --max-ms-per-prb=",
            time->second.front()));
}

} // namespace

void require_consistent(const test_case &c) {
    require_valid_types(c);
    require_valid_computed(c);
    require_valid_zps(c);
    require_valid_rule(c);
    require_valid_global_scale(c);
}

const std::vector<option> &options() {
    static const std::vector<option> table = make_table();
    return table;
}

const option *find_option(std::string_view name) {
    const auto found =
            std::find_if(options().begin(), options().end(), [&](const option &o) { return name == o.name; });
    return found == options().end() ? nullptr : &*found;
}

void settings::set(const option &which, std::string_view value) {
    auto after = values_;
    after.erase(&which);
    // The two are one filter, of which the latest counts.
    if (which.name == std::string_view("impl")) after.erase(find_option("skip-impl"));
    if (which.name == std::string_view("skip-impl")) after.erase(find_option("impl"));
    if (!value.empty()) {
        auto values = which.list ? split(value, ',') : std::vector<std::string> {std::string(value)};
        for (const auto &each : values) {
            test_case scratch;
            which.set(scratch, each);
        }
        after[&which] = std::move(values);
    }
    require_one_time(after);
    values_ = std::move(after);
}

void settings::reset() {
    std::erase_if(values_, [](const auto &entry) { return entry.first->resettable; });
}

std::vector<test_case> settings::cases_for(const problem &prb) const {
    std::vector<test_case> cases(1);
    cases.front().prb = prb;
    for (const auto &which : options()) {
        const auto given = values_.find(&which);
        if (given == values_.end()) continue;
        std::vector<test_case> product;
        for (const auto &c : cases)
            for (const auto &value : given->second) {
                product.push_back(c);
                which.set(product.back(), value);
            }
        cases = std::move(product);
    }
    const bool has_api = has(*find_option("api")), has_rule = has(*find_option("rule"));
    for (auto &c : cases) {
        if (!has_rule && c.computed) c.rule = rule_kind::onnx;
        if (!has_api && c.rule == rule_kind::onnx) c.api = api_kind::direct;
        if (c.qtype != granularity::per_channel) c.axis = defaults.axis;
        if (c.qtype != granularity::per_group) c.group = defaults.group;
        require_consistent(c);
    }
    cases.erase(std::unique(cases.begin(), cases.end()), cases.end());
    return cases;
}

std::string repro(const test_case &c) {
    std::string text;
    for (const auto &which : options()) {
        const auto value = which.show(c);
        const bool is_always_told = which.name == std::string_view("op") || which.name == std::string_view("dt");
        if (is_always_told || value != which.show(defaults))
            text += dynquant::concat("--", which.name, '=', value, ' ');
    }
    return text + to_string(c.prb);
}

std::string changed_options(const test_case &before, const test_case &after) {
    std::string text;
    for (const auto &which : options()) {
        const auto value = which.show(after);
        if (value != which.show(before)) text += dynquant::concat(text.empty() ? "--" : " --", which.name, '=', value);
    }
    return text;
}

std::string join(const std::vector<peer_kind> &peers, char separator) {
    std::string text;
    for (const auto kind : peers) {
        if (!text.empty()) text += separator;
        text += name_of(kind);
    }
    return text;
}

std::string to_string(const data_types &types) {
    return dynquant::concat(name_of(types.src), ':', name_of(types.scales), ':',
            types.zps_are_s64   ? "s64"
                    : types.zps ? name_of(*types.zps)
                                : "undef",
            ':', name_of(types.dst));
}

} // namespace dqbench

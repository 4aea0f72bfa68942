#include "benchdnn/reorder.hpp"

#include <algorithm>
#include <optional>

#include "problem.hpp"
#include "quantization/text.hpp"
#include "text_parsing.hpp"
#include "vocabulary.hpp"

namespace dqbench::benchdnn {

using dynquant::concat;

namespace {

using choice = std::map<std::string, std::string>; // a value of each option

// ---- Options ---------------------------------------------------------------------------------------------------

/// dqbench's name of a type of benchdnn.
std::string type_name(const std::string &type) {
    return type == "e8m0" ? "f8_e8m0" : type;
}

/// A mask by which each run computes the scales: dqbench's rule, and what it takes where the reorder has other types.
struct computing_mask {
    const char *policy, *rule, *scale_type, *ddt, *group;
};
constexpr computing_mask computing_masks[] = {
        {"mx", "mx_floor", "f8_e8m0", "f8_e4m3", "1x32"},
        {"dynamic_fp", "onednn_dynamic_fp", "f8_e4m3", "f4_e2m1", "1x16"},
};

/// The row of a policy; null: the scales are given.
const computing_mask *find_computing(std::string_view policy) {
    const auto *const found = std::ranges::find(computing_masks, policy, &computing_mask::policy);
    return found == std::end(computing_masks) ? nullptr : found;
}

/// oneDNN's types that no operator here has are in no row of data_types.
void check_type(std::string_view text) {
    if (text != "f64" && text != "f4_e3m0") parse_word<data_type>(type_name(std::string(text)));
}

void check_tag(std::string_view text) {
    if (!is_blocked(text)) layout::parse(text);
}

void check_strides(std::string_view text) {
    const auto parts = split(text, ':');
    if (!text.empty() && parts.size() != 2)
        throw usage_error(concat("expected SRC:DST, each NxNx... or empty, given '", text, "'"));
    for (const auto &part : parts)
        if (!part.empty()) parse_dims(part);
}

void check_attributes(std::string_view text) {
    parse_attributes(text);
}

void check_zero_points(std::string_view text) {
    for (const auto &[arg, attribute] : parse_attributes(text)) {
        if (find_computing(attribute.policy))
            throw usage_error(concat("expected another mask than that of computed scales, given '", text, "'"));
        if (!attribute.value.empty()) parse_integer(attribute.value, INT32_MIN, INT32_MAX);
    }
}

/// FLAG:MASK[+...], or empty.
void check_flags(std::string_view text) {
    if (text.empty()) return;
    for (const auto &entry : split(text, '+')) {
        const auto fields = split(entry, ':');
        if (fields.size() != 2 || (fields[0] != "s8s8_comp" && fields[0] != "zp_comp"))
            throw usage_error(concat("expected s8s8_comp:MASK or zp_comp:MASK, given '", entry, "'"));
        parse_integer(fields[1], 0, INT32_MAX);
    }
}

void check_mask(std::string_view text) {
    parse_integer(text, INT32_MIN, INT32_MAX);
}

void check_engines(std::string_view text) {
    if (text != "none" && text != "cpu2gpu" && text != "gpu2cpu")
        throw usage_error(concat("expected none, cpu2gpu or gpu2cpu, given '", text, "'"));
}

/// benchdnn's kinds of post-ops.
constexpr const char *post_ops = "sum dw prelu abs clip clip_v2 clip_v2_dst elu elu_dst exp exp_dst gelu_erf gelu_tanh "
                                 "hardsigmoid hardswish linear log logistic logistic_dst mish pow relu relu_dst round "
                                 "soft_relu sqrt sqrt_dst square swish tanh tanh_dst add div eq ge gt le lt max min "
                                 "mul ne select sub";

/// KIND[:...][+...], or empty. dqbench runs none, so that it does not read what follows a kind.
void check_post_ops(std::string_view text) {
    if (text.empty()) return;
    const auto kinds = split(post_ops, ' ');
    for (const auto &entry : split(text, '+')) {
        const auto kind = split(entry, ':').front();
        if (std::ranges::find(kinds, kind) == kinds.end())
            throw usage_error(concat(
                    "expected a kind of post-op, as in sum:0.5, given '", entry, "'", dynquant::suggest(kind, kinds)));
    }
}

struct knob {
    const char *name, *otherwise; // the default
    void (*check)(std::string_view value);
    bool always_told = false; // also at its default, as in benchdnn's own lines
};

/// Lists multiply in this order, the outermost first.
constexpr knob knobs[] = {
        {"sdt", "f32", check_type, true},
        {"ddt", "f32", check_type, true},
        {"stag", "abx", check_tag, true},
        {"dtag", "abx", check_tag, true},
        {"strides", "", check_strides},
        {"oflag", "", check_flags},
        {"cross-engine", "none", check_engines},
        {"attr-scales", "", check_attributes},
        {"attr-zero-points", "", check_zero_points},
        {"attr-post-ops", "", check_post_ops},
        {"runtime-dim-mask", "0", check_mask},
};

std::string spelled(std::string_view name) {
    return name == "runtime_dim_mask" ? "runtime-dim-mask" : std::string(name);
}

// ---- Attributes --------------------------------------------------------------------------------------------------

/// The bits of the dims along which parameters differ, of policies with a fixed mask.
std::optional<std::int64_t> mask_of(const std::string &policy, std::size_t rank) {
    static const std::map<std::string, std::int64_t> fixed {{"common", 0}, {"host_scalar", 0}, {"per_dim_0", 1},
            {"per_dim_1", 2}, {"per_dim_01", 3}, {"per_ocic", 3}, {"per_dim_2", 4}, {"per_dim_3", 8}};
    if (policy == "per_tensor") return (std::int64_t {1} << rank) - 1;
    if (const auto found = fixed.find(policy); found != fixed.end()) return found->second;
    if (policy.find_first_not_of("0123456789") == policy.npos) return parse_integer(policy, 0, INT32_MAX);
    return std::nullopt;
}

bool has_one_value(const std::string &policy) {
    return mask_of(policy, 1) == 0;
}

quantization_attribute parse_attribute(const std::vector<std::string> &fields, std::string_view entry) {
    const auto fail = [&](const std::string &expected) {
        throw usage_error(concat("expected ", expected, ", given '", entry, "'"));
    };
    if (fields.size() < 2 || fields.size() > 4) fail("ARG:MASK[:VALUE[:TYPE]] or ARG:MASK[:TYPE[:GROUPS]]");
    quantization_attribute result {fields[1], {}, {}};
    if (result.policy == "per_oc") fail("per_dim_0 or per_dim_1, as per_oc may be either for a reorder");
    if (!mask_of(result.policy, 1) && !find_computing(result.policy))
        fail("common, host_scalar, per_dim_0, per_dim_1, per_dim_2, per_dim_3, per_dim_01, per_ocic, per_tensor or the "
             "number of a mask");
    const bool one = has_one_value(result.policy);
    if (one && fields.size() < 3) fail(concat("a value after ", result.policy));
    if (one) parse_f32(result.value = fields[2]);
    const std::size_t type = one ? 3 : 2;
    if (fields.size() > type) {
        const auto known = names_of<data_type>();
        result.type = type_name(fields[type]);
        if (!one && !fields[type].empty() && fields[type].find_first_not_of("+-.0123456789e") == std::string::npos)
            fail(concat("a data type or nothing after ", result.policy,
                    ", as a value stands after common or host_scalar and dqbench draws others"));
        if (std::ranges::find(known, result.type) == known.end())
            throw usage_error(concat("expected a data type after ", fields[type - 1], ", given '", entry, "'",
                    dynquant::suggest(result.type, known)));
    }
    if (!one && fields.size() > 3) {
        result.groups = parse_dims(fields[3]);
        if (result.groups.empty() || std::ranges::count(result.groups, 0) != 0) fail("groups of 1 or more elements");
    }
    return result;
}

// ---- Plans -------------------------------------------------------------------------------------------------------

bool is_one_of(std::string_view name, std::initializer_list<std::string_view> names) {
    return std::ranges::find(names, name) != names.end();
}

bool is_float(std::string_view type) {
    return is_one_of(type, {"f32", "f16", "bf16"});
}

bool is_integer_of_rule_onednn(std::string_view type) {
    return is_one_of(type, {"s8", "u8", "s4", "u4"});
}

bool is_small_float(std::string_view type) {
    return is_one_of(type, {"f8_e4m3", "f8_e5m2", "f4_e2m1"});
}

bool is_quantized(std::string_view type) {
    return is_integer_of_rule_onednn(type) || is_small_float(type);
}

/// Why what one option says cannot be run; empty if it can.
std::string unsupported_value(const choice &c) {
    for (const auto *tag : {"stag", "dtag"})
        if (is_blocked(c.at(tag))) return concat("--", tag, '=', c.at(tag), ": layouts with blocks");
    if (c.at("cross-engine") != "none")
        return concat("--cross-engine=", c.at("cross-engine"), ": dqbench runs on the processor");
    if (!c.at("oflag").empty()) return concat("--oflag=", c.at("oflag"), ": compensation");
    if (!c.at("attr-post-ops").empty()) return concat("--attr-post-ops=", c.at("attr-post-ops"), ": post-ops");
    if (c.at("runtime-dim-mask") != "0")
        return concat("--runtime-dim-mask=", c.at("runtime-dim-mask"), ": dims that are unknown when it is compiled");
    return "";
}

using attributes = std::map<std::string, quantization_attribute>;

/// Why attributes cannot be run: they are not of the quantized side, or disagree.
std::string unsupported_attributes(const attributes &scales, const attributes &zps, const std::string &side,
        const std::string &quantized, std::size_t rank) {
    const std::string op = side == "dst" ? "DynamicQuantize" : "DynamicDequantize";
    for (const auto &[what, list] : {std::pair {"scales", &scales}, {"zero points", &zps}})
        for (const auto &[arg, attribute] : *list) {
            if (arg != side) return concat(what, " of ", arg, ": ", op, " has them of ", side, " alone");
            if (*mask_of(attribute.policy, rank) >> rank != 0 || attribute.groups.size() > rank)
                return concat(what, " by ", attribute.policy, ": of a tensor of rank ", rank);
        }
    if (zps.empty()) return "";
    const auto &zp = zps.at(side);
    if (is_small_float(quantized)) return concat("zero points of ", quantized);
    if (is_one_of(zp.type, {"s4", "u4"}) && !is_one_of(quantized, {"s4", "u4"}))
        return concat("zero points of ", zp.type, " beside ", quantized);
    if (scales.empty() || has_one_value(zp.policy) || has_one_value(scales.at(side).policy)) return "";
    const auto &scale = scales.at(side);
    if (mask_of(scale.policy, rank) != mask_of(zp.policy, rank) || scale.groups != zp.groups)
        return concat("scales by ", scale.policy, " and zero points by ", zp.policy, ": ", op, " has one granularity");
    return "";
}

/// Options that say which elements share a scale.
void add_granularity(const quantization_attribute &by, const dynquant::dims &extents, json_graph::plan &p) {
    const auto rank = extents.size();
    const auto mask = *mask_of(by.policy, rank);
    const auto varies = [&](std::size_t d) { return (mask >> d & 1) != 0; };
    if (mask == 0) return p.options.emplace_back("qtype", "per_tensor"), void();
    if ((mask & (mask - 1)) == 0 && by.groups.empty()) {
        std::size_t axis = 0;
        while (!varies(axis))
            ++axis;
        p.options.emplace_back("qtype", "per_channel");
        p.options.emplace_back("axis", std::to_string(axis));
        return;
    }
    dynquant::dims group(rank, 1);
    std::ranges::copy_backward(by.groups, group.end());
    for (std::size_t d = 0; d < rank; ++d)
        if (!varies(d)) group[d] = std::max<std::int64_t>(extents[d], 1);
    p.options.emplace_back("qtype", "per_group");
    p.options.emplace_back("group", dynquant::to_string(group));
}

void add_layouts(const choice &c, json_graph::plan &p) {
    const auto strides = split(c.at("strides"), ':');
    for (const std::size_t i : {0U, 1U}) {
        const std::string tag = i == 0 ? "stag" : "dtag";
        const bool strided = i < strides.size() && !strides[i].empty();
        if (strided && c.at(tag) != "abx")
            throw usage_error(concat("--strides: expected no --", tag, " beside strides, given ", c.at(tag)));
        p.options.emplace_back(tag, strided ? concat("strides:", strides[i]) : c.at(tag));
    }
}

/// Throws usage_error for scales that each run computes: the message tells dqbench's own options, with the types and
/// the group of the reorder where the rule takes them.
void refuse_computed_scales(const choice &c) {
    for (const auto &[arg, given] : parse_attributes(c.at("attr-scales"))) {
        const auto *const computing = find_computing(given.policy);
        if (!computing) continue;
        const auto &sdt = c.at("sdt"), &ddt = c.at("ddt");
        const bool takes_ddt = is_small_float(ddt) || is_one_of(ddt, {"s8", "s4"});
        const bool takes_type = given.policy == "dynamic_fp" && is_float(given.type);
        throw usage_error(concat(
                "--attr-scales: expected scales that are given; for computed ones write --scales=", computing->rule,
                " --dt=", is_float(sdt) ? sdt : "f32", ':', takes_type ? given.type : computing->scale_type,
                ":undef:", takes_ddt ? ddt : computing->ddt, " --qtype=per_group --group=",
                given.groups.empty() ? computing->group : dynquant::to_string(given.groups),
                " in place of --reorder and its options, given '", arg, ':', given.policy, '\''));
    }
}

json_graph::plan plan_of(const choice &c, const problem &prb) {
    refuse_computed_scales(c);
    json_graph::plan p {"reorder", {}, to_string(prb), unsupported_value(c)};
    if (!p.unsupported.empty()) return p;
    const auto &sdt = c.at("sdt"), &ddt = c.at("ddt");
    const bool quantizes = is_float(sdt) && is_quantized(ddt);
    if (!quantizes && !(is_quantized(sdt) && is_float(ddt))) {
        p.unsupported = concat(sdt, " to ", ddt,
                ": the operators convert f32, f16 and bf16 to s8, u8, s4, u4, f8_e4m3, "
                "f8_e5m2 and f4_e2m1, and back");
        return p;
    }
    const std::string side = quantizes ? "dst" : "src";
    const auto &quantized = quantizes ? ddt : sdt;
    const auto scales = parse_attributes(c.at("attr-scales")), zps = parse_attributes(c.at("attr-zero-points"));
    const auto rank = prb.extents.size();
    p.unsupported = unsupported_attributes(scales, zps, side, quantized, rank);
    if (!p.unsupported.empty()) return p;

    const quantization_attribute one {"common", "1", "f32"};
    const auto &scale = scales.empty() ? one : scales.at(side);
    const auto &zp = zps.empty() ? one : zps.at(side);
    const auto scale_type = scale.type.empty() ? "f32" : scale.type;
    const auto zp_type = zps.empty() ? "undef" : zp.type.empty() ? "s32" : zp.type;
    p.options = {{"op", quantizes ? "DynamicQuantize" : "DynamicDequantize"},
            {"dt", concat(sdt, ':', scale_type, ':', zp_type, ':', ddt)}};
    // Types of ONNX's rule alone, which adds a zero point after the rounding, and not before it as oneDNN's reorder.
    if (is_small_float(quantized) || !is_float(scale_type)) p.options.emplace_back("rule", "onnx");
    add_granularity(has_one_value(scale.policy) ? zp : scale, prb.extents, p);
    if (!scale.value.empty()) p.options.emplace_back("scales", scale.value);
    if (!zps.empty() && !zp.value.empty()) p.options.emplace_back("zps", zp.value);
    add_layouts(c, p);
    return p;
}

} // namespace

std::map<std::string, quantization_attribute> parse_attributes(std::string_view text) {
    std::map<std::string, quantization_attribute> result;
    for (const auto &entry : split(text, '+')) {
        if (text.empty()) break;
        const auto fields = split(entry, ':');
        const auto arg = fields[0] == "src0" ? "src" : fields[0];
        if (arg != "src" && arg != "dst")
            throw usage_error(concat("expected attributes of src or dst, given '", entry, "'"));
        if (!result.emplace(arg, parse_attribute(fields, entry)).second)
            throw usage_error(concat("expected src and dst once each, given '", text, "'"));
    }
    return result;
}

bool reorder::has(std::string_view name) {
    return std::ranges::any_of(knobs, [&](const knob &k) { return spelled(name) == k.name; });
}

void reorder::set(std::string_view name, std::string_view list) {
    if (list.empty()) { // the default
        values_.erase(spelled(name));
        return;
    }
    auto values = split(list, ',');
    for (const auto &k : knobs)
        if (spelled(name) == k.name) std::ranges::for_each(values, k.check);
    values_[spelled(name)] = std::move(values);
}

std::vector<reorder::planned> reorder::plans_for(const std::string &problem) const {
    std::vector<choice> choices(1);
    for (const auto &k : knobs) {
        const auto given = values_.find(k.name);
        const auto values = given == values_.end() ? std::vector<std::string> {k.otherwise} : given->second;
        std::vector<choice> product;
        for (const auto &before : choices)
            for (const auto &value : values) {
                product.push_back(before);
                product.back()[k.name] = value;
            }
        choices = std::move(product);
    }
    const auto prb = parse_problem(problem);
    std::vector<planned> all;
    for (const auto &c : choices) {
        std::string arguments = "--reorder ";
        for (const auto &k : knobs)
            if (k.always_told || c.at(k.name) != k.otherwise) arguments += concat("--", k.name, '=', c.at(k.name), ' ');
        all.push_back({plan_of(c, prb), arguments + to_string(prb)});
    }
    return all;
}

} // namespace dqbench::benchdnn

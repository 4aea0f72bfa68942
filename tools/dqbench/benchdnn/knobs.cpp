#include "benchdnn/knobs.hpp"

#include <algorithm>
#include <iterator>

#include "quantization/text.hpp"
#include "text_parsing.hpp"

namespace dqbench::benchdnn {

using dynquant::concat;

namespace {

enum class meaning {
    nothing, // what dqbench does anyway
    note,    // accepted without effect, which the text explains
    option,  // dqbench's option of the name in `text`, with the value in `as`, or with the given one
    refused  // the text says what to write instead
};

/// A value of an option, or several with | between them; * is any other value.
struct row {
    const char *knob, *values;
    meaning means;
    const char *text = "", *as = nullptr;
};

constexpr const char *yes = "true|1", *no = "false|0", *other = "*";
constexpr const char *automatic = "auto|auto:auto|auto:auto:auto";
constexpr const char *gpu = "it is for GPUs: leave it out";
constexpr const char *threads = "write --threads=N";
constexpr const char *draws = "dqbench draws its data: write --data, --params, --scales and --zps";
constexpr const char *attribute = "no operator of dqbench has this attribute: leave it out";

constexpr row rows[] = {
        // The processor and the library.
        {"engine", "cpu|cpu:0", meaning::nothing},
        {"engine", other, meaning::refused, "dqbench runs on the processor: write --engine=cpu"},
        {"cpu-isa-hints", "none|no_hints", meaning::nothing},
        {"cpu-isa-hints", "prefer_ymm", meaning::refused, "write --isa=avx2 for vectors of 256 bits"},
        {"cpu-isa-hints", other, meaning::refused, "expected none, no_hints or prefer_ymm"},
        {"memory-kind", "usm", meaning::nothing},
        {"memory-kind", other, meaning::refused, gpu},
        {"stream-kind", "def", meaning::nothing},
        {"stream-kind", other, meaning::refused, gpu},
        {"num-streams", "1", meaning::nothing},
        {"num-streams", other, meaning::refused, gpu},
        {"execution-mode", "direct", meaning::nothing},
        {"execution-mode", other, meaning::refused, gpu},
        {"ctx-init", automatic, meaning::nothing},
        {"ctx-init", other, meaning::refused, threads},
        {"ctx-exe", automatic, meaning::nothing},
        {"ctx-exe", other, meaning::refused, threads},
        // What is run and printed.
        {"allow-enum-tags-only", "true|1|false|0", meaning::note,
                "dqbench takes a tag of any order of dims, and none with blocks"},
        {"canonical", no, meaning::nothing},
        {"canonical", yes, meaning::note,
                "no effect: dqbench prints the options that are not at their defaults, which --help has"},
        {"mem-check", yes, meaning::nothing},
        {"mem-check", no, meaning::note, "no effect: dqbench always checks that a case fits into memory"},
        {"mode-modifier", "M|m|P|p|PM|pm|MP|mp", meaning::note,
                "no effect: dqbench compiles one case after the other, and M is for GPUs"},
        {"mode-modifier", other, meaning::refused, "expected P, M or PM"},
        {"global-impl", other, meaning::refused, "write --kernel=native, onednn or reference, which --reset keeps"},
        {"global-skip-impl", other, meaning::refused,
                "write --skip-impl=NAME,..., which --reset clears, or --kernel=native, onednn or reference, which it "
                "keeps"},
        {"buffer-prefix", other, meaning::refused, draws},
        // Checks.
        {"attr-same-pd-check", no, meaning::nothing},
        {"attr-same-pd-check", other, meaning::refused, "dqbench prints what ran in each line: leave it out"},
        {"check-ref-impl", no, meaning::nothing},
        {"check-ref-impl", other, meaning::refused, "write --skip-impl=ref, or --kernel=native"},
        {"fast-ref", no, meaning::nothing},
        {"fast-ref", yes, meaning::note, "no effect: dqbench compares with its reference kernel"},
        // Measuring.
        {"cold-cache", "none", meaning::option, "cache", "warm"},
        {"cold-cache", "all", meaning::option, "cache", "cold"},
        {"cold-cache", "wei", meaning::refused, "no operator of dqbench has weights: write --cold-cache=all"},
        {"cold-cache", other, meaning::refused, "expected none or all, without extensions"},
        // Attributes.
        {"attr-fpmath", other, meaning::option, "fpmath-mode"},
        {"attr-scratchpad", "library", meaning::nothing},
        {"attr-scratchpad", "user", meaning::note, "no effect: no operator of dqbench has a scratchpad"},
        {"attr-acc-mode", "strict", meaning::nothing},
        {"attr-acc-mode", other, meaning::refused, attribute},
        {"attr-rounding-mode", "src:environment|dst:environment", meaning::nothing},
        {"attr-rounding-mode", other, meaning::refused, "dynquant rounds to nearest, ties to even: leave it out"},
        {"attr-deterministic", "true|1|false|0", meaning::note,
                "dynquant gives the same bits in every run: --mode=B checks that"},
        {"attr-dropout", other, meaning::refused, attribute},
        {"attr-precomputed-reductions", other, meaning::refused, attribute},
        // Drivers.
        {"expected-n-partitions", other, meaning::note, "dqbench runs each op by itself and counts no partitions"},
};

/// benchdnn's options of its reorder driver, for hints without --reorder.
constexpr struct {
    const char *knob, *instead;
} of_reorder[] = {
        {"sdt", "--dt=SRC:SCALES:ZPS:DST"},
        {"ddt", "--dt=SRC:SCALES:ZPS:DST"},
        {"strides", "--stag=strides:12x4x1 and --dtag=strides:12x4x1"},
        {"oflag", "nothing: dqbench has no compensation"},
        {"attr-scales", "--qtype, --axis, --group and --scales"},
        {"attr-zero-points", "--qtype, --axis, --group and --zps"},
        {"attr-post-ops", "nothing: dqbench has no post-ops"},
        {"runtime-dim-mask", "nothing: dqbench's dims are known"},
        {"cross-engine", "nothing: dqbench has one engine"},
};

constexpr const char *of_other_drivers[] = {"activation", "alg", "alpha", "beta", "bia-dt", "bia_dt", "bia_mask", "cfg",
        "dir", "direction", "encoding", "eps", "flags", "grouped", "inplace", "p", "skip-nonlinear", "stat_tag", "tag",
        "trivial-strides", "wtag"};

constexpr const char *other_drivers[] = {"binary", "bnorm", "brgemm", "concat", "conv", "deconv", "eltwise", "gnorm",
        "ip", "lnorm", "lrn", "matmul", "pool", "prelu", "reduction", "resampling", "rnn", "sdpa", "self", "shuffle",
        "softmax", "sum", "zeropad"};

bool is_one_of(std::string_view value, const char *values) {
    if (values == std::string_view(other)) return true;
    return std::ranges::count(split(values, '|'), value) != 0;
}

std::vector<row> rows_of(std::string_view knob) {
    std::vector<row> found;
    std::ranges::copy_if(rows, std::back_inserter(found), [&](const row &each) { return knob == each.knob; });
    return found;
}

void require_integer(std::string_view name, std::string_view text) {
    try {
        parse_integer(text, INT32_MIN, INT32_MAX);
    } catch (const usage_error &e) {
        throw usage_error(concat("--", name, ": ", e.what()));
    }
}

/// MODE[:APPLY_TO_INT], of which the second is for products.
std::string without_apply_to_int(std::string value) {
    for (const std::string_view suffix : {":true", ":false", ":1", ":0"})
        if (value.ends_with(suffix)) return value.substr(0, value.size() - suffix.size());
    return value;
}

} // namespace

std::optional<translation> translate(std::string_view name, const std::string *value) {
    for (const auto &[knob, instead] : of_reorder)
        if (name == knob) throw usage_error(concat("--", name, ": expected --reorder before it; else write ", instead));
    for (const auto *each : of_other_drivers)
        if (name == each)
            throw usage_error(concat("--", name, ": benchdnn has it for drivers other than --graph and --reorder"));
    const auto own = rows_of(name);
    if (own.empty()) return std::nullopt;
    if (!value) throw usage_error(concat("--", name, ": expected a value, as in --", name, "=VALUE"));
    translation result;
    if (value->empty()) { // the default
        const auto found = std::ranges::find(own, meaning::option, &row::means);
        if (found != own.end()) result.option = found->text;
        return result;
    }
    for (const auto &given : split(*value, ',')) {
        const auto found = std::ranges::find_if(own, [&](const row &r) { return is_one_of(given, r.values); });
        if (found == own.end()) {
            std::string values;
            for (const auto &r : own)
                values += concat(values.empty() ? "" : "|", r.values);
            throw usage_error(concat("--", name, ": expected ", values, ", given '", given, "'"));
        }
        const auto &each = *found;
        switch (each.means) {
            case meaning::refused: throw usage_error(concat("--", name, ": ", each.text, ", given '", given, "'"));
            case meaning::note:
                if (name == "expected-n-partitions") require_integer(name, given);
                result.note = concat("--", name, ": ", each.text);
                break;
            case meaning::option:
                result.value += concat(result.option ? "," : "", each.as ? each.as : without_apply_to_int(given));
                result.option = each.text;
                break;
            case meaning::nothing: break;
        }
    }
    return result;
}

void refuse_other_drivers(std::string_view name) {
    for (const auto *each : other_drivers)
        if (name == each)
            throw usage_error(concat("--", name, ": dqbench has no such driver: expected --graph or --reorder"));
}

std::vector<std::string> knob_names() {
    std::vector<std::string> names;
    for (const auto &each : rows)
        if (names.empty() || names.back() != each.knob) names.emplace_back(each.knob);
    for (const auto &each : of_reorder)
        names.emplace_back(each.knob);
    return names;
}

} // namespace dqbench::benchdnn

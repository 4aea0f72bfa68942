// Statements of operators: every rule by every types that it takes. The types are tried, not listed, so that a new one
// has cells without a line here; the table then lacks them, and verify says so.
#include <algorithm>
#include <array>
#include <map>
#include <memory>

#include "arena.hpp"
#include "compiled_case.hpp"
#include "elements/table.hpp"
#include "group.hpp"
#include "options.hpp"
#include "quantization/named_rules.hpp"
#include "quantization/shape.hpp"
#include "quantization/text.hpp"
#include "vocabulary.hpp"
#include "workspace.hpp"

namespace dqbench::verify {
namespace {

using dynquant::concat, dynquant::precision;
namespace targets = dynquant::targets;

/// Where scales are shared and how tensors lie, as dqbench's arguments. Each cell has each of them.
struct arrangement {
    granularity qtype;
    std::int64_t axis; // of per_channel
    dynquant::dims group, extents;
    const char *src_layout = "abx", *dst_layout = "abx";
    std::int64_t offset = 0;
};

const std::vector<arrangement> &arrangements() {
    static const std::vector<arrangement> all {
            {granularity::per_tensor, 0, {}, {257, 259}}, // 65536 elements and more: every code of 16 bits
            {granularity::per_channel, 0, {}, {61, 67}},
            {granularity::per_channel, 1, {}, {61, 67}, "abx", "abx", 1},
            {granularity::per_group, 0, {32}, {31, 160}},
            {granularity::per_group, 0, {16}, {37, 104}, "abx", "abx", 3},
            {granularity::per_tensor, 0, {}, {4093}, "abx", "abx", 1},
            {granularity::per_channel, 1, {}, {2, 17, 13, 9}, "acdb", "abcd"},
            {granularity::per_group, 0, {1, 128}, {23, 256}},
            {granularity::per_channel, -1, {}, {3, 5, 7, 41}, "abcd", "dcba"},
            {granularity::per_group, 0, {32, 1}, {64, 65}},
            {granularity::per_channel, 1, {}, {3, 33, 5, 8}},
            {granularity::per_group, 0, {2, 16}, {4, 6, 96}},
            {granularity::per_tensor, 0, {}, {31, 65}, "strides:72x1", "strides:70x1"},
            {granularity::per_channel, 0, {}, {33, 65}, "strides:130x2", "strides:1x35"},
            {granularity::per_group, 0, {1, 8}, {9, 144}, "strides:150x1", "strides:1x9"},
            {granularity::per_channel, 0, {}, {1021, 3}},
    };
    return all;
}

/// What a cell's statements differ in besides arrangements.
struct variation {
    op_kind op;
    data_types types;
    precision division = precision::f32;
    bool saturate = false;
    std::vector<float> scales = {}; // empty: drawn
    std::optional<float> global_scale = {};
};

test_case case_of(const variation &v, const arrangement &a, parameter_kind parameters, rule_kind rule,
        const std::optional<dynquant::scale_rule> &computed) {
    test_case c;
    c.api = api_kind::direct;
    c.op = v.op;
    c.types = v.types;
    c.rule = rule;
    c.division = v.division;
    c.saturate = v.saturate;
    c.scales = v.scales;
    c.global_scale = v.global_scale;
    c.computed = computed;
    c.parameters = parameters;
    c.qtype = a.qtype;
    if (a.qtype == granularity::per_channel) c.axis = a.axis;
    if (a.qtype == granularity::per_group) c.group = a.group;
    c.src_layout = layout::parse(a.src_layout);
    c.dst_layout = layout::parse(a.dst_layout);
    c.offset = a.offset;
    c.prb.extents = a.extents;
    return c;
}

/// A statement's inputs and its outputs' buffers.
class drawn_case {
  public:
    explicit drawn_case(const test_case &c)
        : case_(c)
        , statement_(case_)
        , parameters_(draw_parameters(case_, statement_))
        , quantization_(statement_.direct(parameters_, *statement_.dst_strides, statement_.exact_rule()))
        , space_(statement_, parameters_,
                  span_in_bytes(statement_.types.dst, statement_.extents, *statement_.dst_strides), filling::checking,
                  case_.offset) {}

    digest compute(const way &w) {
        const auto outputs = space_.outputs();
        for (const auto &out : outputs)
            std::ranges::fill(out.buffer->bytes(), guarded_buffer::pattern);
        auto args = space_.inputs();
        args.dst = space_.handles().dst;
        args.computed_scales = space_.handles().scales;
        args.computed_zero_points = space_.handles().zero_points;
        const auto operation = dynquant::prepare(quantization_, options_of(w));
        in_arena(w.threads, [&] { operation.run(args); });

        hasher of;
        for (const auto &out : outputs) {
            of.add(out.type, out.buffer->bytes());
            if (!out.buffer->guards_intact()) of.add(digest {1});
        }
        return of.value();
    }

  private:
    test_case case_;
    dqbench::statement statement_;
    parameters parameters_;
    dynquant::quantization quantization_;
    workspace space_;
};

statement statement_of(const test_case &c) {
    return {"dqbench " + repro(c), *dynquant::volume(c.prb.extents), [c]() -> computation {
                const auto drawn = std::make_shared<drawn_case>(c);
                return [drawn](const way &w) { return drawn->compute(w); };
            }};
}

bool is_valid(const variation &v, rule_kind rule, const std::optional<dynquant::scale_rule> &computed) {
    const dqbench::statement s(
            case_of(v, {granularity::per_tensor, 0, {}, {4}}, parameter_kind::usual, rule, computed));
    return !dynquant::check(s.direct({{1}, {0}}, {1}, s.exact_rule()));
}

/// The types that may stand in one of these places.
std::vector<data_type> types_at(unsigned places) {
    std::vector<data_type> result;
    for (const auto &type : dynquant::data_types)
        if ((type.places & places) != 0) result.push_back(type.type);
    return result;
}

/// Every type of src, scales, zero points and dst that the rule takes, by each division and saturation that it has.
std::vector<variation> variations(op_kind op, rule_kind rule, const std::optional<dynquant::scale_rule> &computed) {
    namespace place = dynquant::place;
    constexpr auto real = place::real | place::onnx_real,
                   quantized = place::quantized | place::onnx_quantized | place::computed;
    const bool divides = rule == rule_kind::onnx && quantizes(op);
    std::vector<precision> divisions {precision::f32};
    if (divides && !computed) divisions.insert(divisions.end(), {precision::f16, precision::bf16, precision::f64});
    std::vector<variation> result;
    for (const auto src : types_at(quantizes(op) ? real : quantized))
        for (const auto dst : types_at(quantizes(op) ? quantized : real))
            for (const auto scales : types_at(place::real | place::onnx_scale)) {
                std::vector<std::optional<data_type>> zps {std::nullopt};
                for (const auto type : types_at(place::zero_point | place::quantized | place::onnx_quantized))
                    zps.emplace_back(type);
                for (const auto &zero_points : zps)
                    for (const auto division : divisions)
                        for (int saturates = 0; saturates <= int {divides && !dynquant::traits(dst).integral};
                                ++saturates) {
                            const variation v {op, {src, scales, zero_points, dst}, division, saturates == 1};
                            if (is_valid(v, rule, computed)) result.push_back(v);
                        }
            }
    return result;
}

/// How many statements, and how large.
struct amount {
    std::size_t turns;        // each variation and each arrangement has a place in each
    std::int64_t lengthening; // of the first dim, where strides allow it
};

using parameter_kinds = std::array<parameter_kind, 4>;
constexpr parameter_kinds every_kind {
        parameter_kind::usual, parameter_kind::wild, parameter_kind::wild, parameter_kind::pow2};

/// The statements of a cell, with parameters of each kind. Each turn has other shapes, from which other scales follow.
cell make_cell(const std::string &name, const std::vector<variation> &of, rule_kind rule,
        const std::optional<dynquant::scale_rule> &computed, const amount &much, const parameter_kinds &kinds) {
    const auto &places = arrangements();
    cell result {name, {}};
    const auto turn = std::max(of.size(), places.size());
    for (std::size_t i = 0; i < turn * much.turns; ++i) {
        // i / turn, so that a later turn has other pairs.
        auto place = places[(i + i / turn) % places.size()];
        if (std::string_view(place.src_layout).find(':') == std::string_view::npos)
            place.extents[0] = place.extents[0] * much.lengthening + static_cast<std::int64_t>(i / turn);
        auto c = case_of(of[i % of.size()], place, kinds[(i + i / kinds.size()) % kinds.size()], rule, computed);
        // Attributes known at prepare: kernels prepare other loops by them.
        if (rule == rule_kind::onednn && i % 3 == 2) {
            if (c.op == op_kind::DynamicQuantize) c.op = op_kind::Quantize;
            if (c.op == op_kind::DynamicDequantize) c.op = op_kind::Dequantize;
        }
        result.statements.push_back(statement_of(c));
    }
    return result;
}

group make_group(const std::string &name, const std::vector<variation> &all, rule_kind rule, const amount &much,
        const std::optional<dynquant::scale_rule> &computed = {}, const parameter_kinds &kinds = every_kind) {
    std::vector<std::pair<std::string, std::vector<variation>>> by_types;
    for (const auto &v : all) {
        const auto types = concat(name_of(v.types.src), "->", name_of(v.types.dst));
        if (by_types.empty() || by_types.back().first != types) by_types.emplace_back(types, std::vector<variation> {});
        by_types.back().second.push_back(v);
    }
    group result {name, operator_sets, {}};
    for (const auto &[types, of] : by_types)
        result.cells.push_back(make_cell(concat(name, '/', types), of, rule, computed, much, kinds));
    return result;
}

group make_group(const std::string &name, op_kind op, rule_kind rule, const amount &much,
        const std::optional<dynquant::scale_rule> &computed = {}) {
    return make_group(name, variations(op, rule, computed), rule, much, computed);
}

/// What drawn parameters seldom show.
std::vector<group> special_groups() {
    using enum op_kind;
    std::vector<group> result;

    // Values of 2^24 and more, which f32 does not have.
    auto all = variations(DynamicQuantize, rule_kind::onnx, {});
    std::erase_if(all, [](const variation &v) {
        return v.types.src != data_type::s32 || v.types.scales == data_type::f16 || v.types.scales == data_type::f8_e4m3
                || (v.division != precision::f32 && v.division != precision::bf16);
    });
    for (auto &v : all)
        v.scales = {0x1.4p22F, 0x1p21F, 0x1.98p23F, 0x1p24F, -0x1.f4p22F};
    result.push_back(make_group("onnx.quantize.large", all, rule_kind::onnx, {1, 1}));

    // Quotients beyond f32: where x * reciprocal overflows, and x times the residual to the other side.
    for (const auto rule : {rule_kind::onednn, rule_kind::onnx}) {
        all = variations(DynamicQuantize, rule, {});
        std::erase_if(all, [](const variation &v) {
            if (!dynquant::traits(v.types.dst).integral || v.types.src == data_type::s32) return true;
            if (v.types.src == data_type::f16) return v.types.scales != data_type::f16 || v.division != precision::f16;
            return (v.types.scales != data_type::f32 && v.types.scales != data_type::bf16)
                    || (v.division != precision::f32 && v.division != precision::bf16);
        });
        for (auto &v : all)
            if (v.types.src == data_type::f16)
                v.scales = {0x1.7b8p-14F, 0x1.f3p-14F, 0x1.0f4p-14F, 0x1.58cp-14F, 0x1.4cp-13F};
            else
                v.scales = {0x1.0f5d06p-35F, 0x1.98p-60F, 0x1.f31p-30F, 0x1.7ba8f2p-74F, 0x1.14p-40F};
        const bool is_onnx = rule == rule_kind::onnx;
        result.push_back(make_group(
                is_onnx ? "onnx.quantize.small" : "strict.quantize.small", all, rule, amount {is_onnx ? 1U : 2U, 1}));
    }

    all = variations(DynamicDequantize, rule_kind::onnx, {});
    std::erase_if(all, [](const variation &v) { return v.types.scales != data_type::f8_e4m3; });
    for (auto &v : all)
        v.global_scale = static_cast<float>(usual_global_scale);
    result.push_back(make_group("onnx.dequantize.global", all, rule_kind::onnx, {1, 1}));

    // Ranges at ties of the scales, and x at ties of the codes.
    const auto nvfp4 = dynquant::presets::nvfp4();
    all = variations(DynamicQuantize, rule_kind::onnx, nvfp4);
    std::erase_if(all, [](const variation &v) { return v.types.src != data_type::f32; });
    parameter_kinds ties;
    ties.fill(parameter_kind::nvfp4);
    result.push_back(make_group("computed.nvfp4.ties", all, rule_kind::onnx, {4, 1}, nvfp4, ties));
    return result;
}

std::vector<group> make_groups(const std::string &prefix, std::int64_t lengthening) {
    using enum op_kind;
    const auto turns = [&](std::size_t count) { return amount {count, lengthening}; };
    // ONNX's quantize has so many types that one turn of it takes half of the time.
    std::vector<group> result {
            make_group(prefix + "strict.quantize", DynamicQuantize, rule_kind::onednn, turns(6)),
            make_group(prefix + "strict.dequantize", DynamicDequantize, rule_kind::onednn, turns(6)),
            make_group(prefix + "onnx.quantize", DynamicQuantize, rule_kind::onnx, turns(1)),
            make_group(prefix + "onnx.dequantize", DynamicDequantize, rule_kind::onnx, turns(2)),
    };
    for (const auto &rule : dynquant::named_rules())
        result.push_back(make_group(
                concat(prefix, "computed.", rule.name), DynamicQuantize, rule_kind::onnx, turns(2), rule.rule));
    return result;
}

} // namespace

std::vector<group> operator_groups() {
    auto all = make_groups("", 1);
    std::ranges::move(special_groups(), std::back_inserter(all));
    return all;
}

std::vector<group> long_operator_groups() {
    return make_groups("long.", 24);
}

} // namespace dqbench::verify

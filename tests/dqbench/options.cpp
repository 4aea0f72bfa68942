// dqbench's options set their members, lists of values multiply, and __REPRO parses to the same case. Layouts and
// problems are parsed and printed.
#include <set>

#include <gtest/gtest.h>

#include "dqbench_support.hpp"
#include "layout.hpp"
#include "options.hpp"
#include "problem.hpp"
#include "statement.hpp"
#include "vocabulary.hpp"

namespace {

using namespace dqbench;
using namespace dqbench::tests;
using dynquant::dims;
using dynquant::isa;

const problem some_problem {{2, 3}, "name"};

void set(settings &s, const std::string &name, const std::string &value) {
    const auto *which = find_option(name);
    ASSERT_NE(which, nullptr) << name;
    s.set(*which, value);
}

using given = std::vector<std::pair<std::string, std::string>>;

/// The cases that these options make.
std::vector<test_case> cases_of(const given &options) {
    settings s;
    for (const auto &[name, value] : options)
        set(s, name, value);
    return s.cases_for(some_problem);
}

/// The one case that these options make.
test_case single(const given &options) {
    const auto cases = cases_of(options);
    EXPECT_EQ(cases.size(), 1u);
    return cases.front();
}

TEST(dqbench_options, defaults) {
    const auto c = single({});
    EXPECT_EQ(c, (test_case {.prb = some_problem}));
    EXPECT_EQ(repro(c), "--op=DynamicQuantize --dt=f32:f32:undef:s8 2x3n\"name\"");
}

TEST(dqbench_options, each_sets_its_member) {
    EXPECT_EQ(single({{"mode", "CP"}}).mode, run_mode::correctness_and_performance);
    EXPECT_EQ(single({{"mode", "f"}}).mode, run_mode::fast);
    EXPECT_EQ(single({{"op", "Dequantize"}}).op, op_kind::Dequantize);
    EXPECT_EQ(single({{"kernel", "onednn"}}).kernel, kernel_choice::onednn);
    EXPECT_EQ(single({{"kernel", "auto"}}).kernel, kernel_choice::automatic);
    EXPECT_EQ(single({{"isa", "avx2"}}).isa, isa::avx2);
    EXPECT_EQ(single({{"threads", "7"}}).threads, 7);
    EXPECT_EQ(single({{"peer", "onednn_graph"}}).peers, (std::vector {peer_kind::onednn_graph}));
    EXPECT_EQ(single({{"api", "direct"}}).api, api_kind::direct);
    EXPECT_EQ(single({{"cache", "cold"}}).cache, cache_state::cold);
    EXPECT_EQ(single({{"offset", "3"}}).offset, 3);
    EXPECT_EQ(single({{"fix-times-per-prb", "9"}}).limits.times, 9);
    EXPECT_EQ(single({{"max-ms-per-prb", "1.5e2"}}).limits.milliseconds, 150);
    EXPECT_EQ(single({{"fpmath-mode", "any"}}).fpmath, fpmath_mode::any);
    EXPECT_EQ(single({{"params", "wild"}}).parameters, parameter_kind::wild);
    EXPECT_EQ(single({{"data", "normal"}}).data, data_kind::normal);
    EXPECT_EQ(single({{"stag", "axb"}}).src_layout, layout::parse("axb"));
    EXPECT_EQ(single({{"dtag", "any"}}).dst_layout, layout::parse("any"));
    EXPECT_EQ(single({{"qtype", "per_channel"}, {"axis", "-2"}}).axis, -2);
    EXPECT_EQ(single({{"dt", "s4:bf16:u4:f16"}}).types,
            (data_types {data_type::s4, data_type::bf16, data_type::u4, data_type::f16}));
    EXPECT_EQ(single({{"dt", "f32:f32:s32:u8"}}).types,
            (data_types {data_type::f32, data_type::f32, data_type::s32, data_type::u8}));
}

TEST(dqbench_options, data_types_follow_the_operator_until_they_are_given) {
    EXPECT_EQ(single({{"op", "DynamicDequantize"}}).types,
            (data_types {data_type::s8, data_type::f32, std::nullopt, data_type::f32}));
    EXPECT_EQ(single({{"dt", "u8:f32:u8:f32"}, {"op", "DynamicDequantize"}}).types.src, data_type::u8);
}

TEST(dqbench_options, lists_multiply) {
    const auto cases =
            cases_of({{"op", "DynamicQuantize,Quantize"}, {"threads", "1,2,4"}, {"stag", "abx,strides:5x1"}});
    EXPECT_EQ(cases.size(), 12u);
    std::set<std::string> different;
    for (const auto &c : cases)
        different.insert(repro(c));
    EXPECT_EQ(different.size(), 12u);
    EXPECT_EQ(single({{"threads", "1,2,3"}, {"threads", "4"}}).threads, 4); // the last list counts
}

TEST(dqbench_options, peers_are_a_list_that_does_not_multiply) {
    EXPECT_EQ(single({{"peer", "xnnpack,flat,onednn_reorder"}}).peers,
            (std::vector {peer_kind::xnnpack, peer_kind::flat, peer_kind::onednn_reorder}));
    EXPECT_TRUE(single({{"peer", "none"}}).peers.empty());
    EXPECT_TRUE(single({{"peer", "flat"}, {"peer", "none"}}).peers.empty());
}

TEST(dqbench_options, what_contradicts_itself_is_refused) {
    const given onnx {{"api", "direct"}, {"rule", "onnx"}};
    const given computed {{"api", "direct"}, {"scales", "minmax"}, {"dt", "f32:f32:u8:u8"}};
    const std::string others = "no peer but flat, as the others have oneDNN's rounding, given --peer=xnnpack",
                      global = "--global-scale: expected --op=DynamicDequantize and --rule=onnx, given --op=";
    struct row {
        given before;
        std::string name, value, message; // of the option that contradicts those before
    };
    for (auto [options, name, value, message] : {
                 row {onnx, "api", "graph", "--rule=onnx: expected --api=direct, given --api=graph"},
                 row {onnx, "op", "Quantize",
                         "--rule=onnx: expected --op=DynamicQuantize or DynamicDequantize, given --op=Quantize"},
                 row {onnx, "peer", "xnnpack", "--rule=onnx: expected " + others},
                 row {onnx, "peer", "flat,xnnpack", "--rule=onnx: expected " + others},
                 row {computed, "api", "graph", "--scales=minmax: expected --api=direct, given --api=graph"},
                 row {computed, "op", "Quantize",
                         "--scales=minmax: expected --op=DynamicQuantize, given --op=Quantize"},
                 row {computed, "op", "DynamicDequantize",
                         "expected --op=DynamicQuantize, given --op=DynamicDequantize"},
                 row {computed, "zps", "1x2",
                         "--scales=minmax: expected no --zps, as zero points are computed, given 1x2"},
                 row {computed, "peer", "xnnpack", "expected no peer but flat"},
                 row {{{"op", "DynamicDequantize"}}, "global-scale", "2",
                         global + "DynamicDequantize and --rule=onednn"},
                 row {onnx, "global-scale", "2", global + "DynamicQuantize and --rule=onnx"},
                 row {{}, "zps", "3", "--zps: expected a type of zero points in --dt, given f32:f32:undef:s8"},
                 row {{{"dt", "f32:f32:u8:u8"}}, "zps", "256", "--zps: expected values of u8, given 256"},
                 row {{}, "group", "4x0", "expected extents of 1 or more, given '4x0'"},
         }) {
        options.emplace_back(name, value);
        expect_usage_error([&, all = options] { single(all); }, message);
    }
}

TEST(dqbench_options, the_rule_onnx_has_options_of_its_own) {
    EXPECT_EQ(single({{"api", "direct"}, {"rule", "onnx"}, {"peer", "flat"}}).peers, (std::vector {peer_kind::flat}));
    const auto c = single({{"api", "direct"}, {"rule", "onnx"}, {"division", "f16"}, {"saturate", "true"},
            {"dt", "s32:f8_e8m0:u16:u16"}});
    EXPECT_EQ(c.rule, rule_kind::onnx);
    EXPECT_EQ(c.division, dynquant::precision::f16);
    EXPECT_TRUE(c.saturate);
    EXPECT_EQ(c.types, (data_types {data_type::s32, data_type::f8_e8m0, data_type::u16, data_type::u16}));
}

TEST(dqbench_options, rules_imply_the_direct_api) {
    EXPECT_EQ(single({{"rule", "onnx"}}).api, api_kind::direct);
    EXPECT_EQ(single({{"scales", "nvfp4"}}).api, api_kind::direct);
    EXPECT_EQ(single({{"rule", "onednn"}}).api, api_kind::graph);
    const auto cases = cases_of({{"rule", "onednn,onnx"}});
    ASSERT_EQ(cases.size(), 2U);
    EXPECT_EQ(cases[0].api, api_kind::graph);
    EXPECT_EQ(cases[1].api, api_kind::direct);
}

TEST(dqbench_options, zero_points_of_the_static_ops_may_be_s64) {
    const auto c = single({{"op", "Quantize"}, {"dt", "f32:f32:s64:u8"}});
    EXPECT_EQ(c.types.zps, data_type::s32); // whose range they may have
    EXPECT_EQ(repro(c), "--op=Quantize --dt=f32:f32:s64:u8 2x3n\"name\"");
    EXPECT_EQ(single({{"op", "Dequantize"}, {"dt", "s8:f32:s64:f32"}, {"zps", "-200"}}).zps,
            (std::vector<std::int32_t> {-200}));
    expect_usage_error(
            [] {
                single({{"op", "DynamicDequantize"}, {"dt", "s8:f32:s64:f32"}});
            },
            "--dt: expected zero points of s64 with --op=Quantize or Dequantize alone, whose zero points are an "
            "attribute, given --op=DynamicDequantize");
}

TEST(dqbench_options, scales_may_be_computed) {
    using namespace dynquant;
    const auto computed = [](const std::string &name) {
        const auto c = single({{"api", "direct"}, {"scales", name}, {"peer", "flat"}});
        EXPECT_EQ(c.rule, rule_kind::onnx) << name;
        EXPECT_TRUE(c.scales.empty()) << name;
        EXPECT_NE(repro(c).find("--rule=onnx --scales=" + name + ' '), std::string::npos) << repro(c);
        return c.computed.value();
    };
    EXPECT_EQ(computed("absmax"), scale_rule {});
    EXPECT_EQ(computed("minmax").range, scale_range::minmax);
    EXPECT_EQ(computed("minmax").of_zero, 1);
    EXPECT_EQ(single({{"api", "direct"}, {"scales", "onnx"}}).computed, computed("minmax")); // two words for one rule
    for (const auto &rule : named_rules())
        EXPECT_EQ(computed(name_of(rule.rule)), rule.rule) << rule.name;
    EXPECT_EQ(single({{"api", "direct"}, {"scales", "absmax"}, {"scales", "0.5x2"}}).computed, std::nullopt);
    EXPECT_EQ(single({{"api", "direct"}, {"scales", "0.5x2"}}).rule, rule_kind::onednn);
}

TEST(dqbench_options, the_global_scale) {
    const auto c = single({{"api", "direct"}, {"op", "DynamicDequantize"}, {"rule", "onnx"}, {"global-scale", "0.5"}});
    EXPECT_EQ(c.global_scale, 0.5F);
    EXPECT_EQ(repro(c),
            "--api=direct --op=DynamicDequantize --dt=s8:f32:undef:f32 --rule=onnx --global-scale=0.5 2x3n\"name\"");
}

TEST(dqbench_options, axis_multiplies_per_channel_only) {
    const auto cases = cases_of({{"axis", "0,1,-1"}, {"qtype", "per_tensor,per_channel"}});
    ASSERT_EQ(cases.size(), 4u);
    EXPECT_EQ(cases[0].qtype, granularity::per_tensor);
    EXPECT_EQ(cases[1].axis, 0);
    EXPECT_EQ(cases[3].axis, -1);
}

TEST(dqbench_options, group_multiplies_per_group_only) {
    const auto cases = cases_of({{"group", "1x32,64"}, {"qtype", "per_tensor,per_group"}});
    ASSERT_EQ(cases.size(), 3u);
    EXPECT_EQ(cases[1].group, (dims {1, 32}));
    EXPECT_EQ(cases[2].group, dims {64});
}

TEST(dqbench_options, group_is_of_the_last_dims) {
    test_case c = single({{"qtype", "per_group"}, {"group", "2x4"}});
    c.prb.extents = {3, 4, 8};
    const statement of_three(c);
    EXPECT_EQ(of_three.group, (dims {1, 2, 4}));
    EXPECT_EQ(of_three.parameter_dims(), (dims {3, 2, 2}));
    EXPECT_EQ(of_three.parameter_count(), 12);
    c.prb.extents = {8};
    expect_usage_error([&] { statement {c}; }, "--group: expected no more extents than the problem has, 1, given 2x4");
}

TEST(dqbench_options, reset_forgets_what_to_run_and_keeps_how) {
    settings s;
    set(s, "op", "Quantize");
    set(s, "dt", "f32:f32:s8:u8");
    set(s, "kernel", "native");
    set(s, "mode", "P");
    s.reset();
    const auto c = s.cases_for(some_problem).at(0);
    EXPECT_EQ(c, (test_case {.mode = run_mode::performance, .kernel = kernel_choice::native, .prb = some_problem}));
}

TEST(dqbench_options, repro_reads_back) {
    const auto cases = cases_of({{"mode", "CP"}, {"kernel", "auto,native,onednn,reference"},
            {"isa", "auto,scalar,avx512"}, {"threads", "0,3"}, {"peer", "xnnpack,flat"}, {"api", "graph,direct"},
            {"max-ms-per-prb", "12.3"}, {"fix-times-per-prb", "4"},
            {"op", "DynamicQuantize,DynamicDequantize,Quantize,Dequantize"}, {"dt", "f32:f32:undef:s8,u8:f32:s32:f32"},
            {"fpmath-mode", "strict,any,bf16"}, {"data", "normal"}, {"params", "usual,pow2,wild"},
            {"stag", "abx,strides:5x0"}, {"dtag", "abx,any"}, {"qtype", "per_tensor,per_channel"}, {"axis", "1,-1"}});
    EXPECT_EQ(cases.size(), 4u * 3 * 2 * 2 * 4 * 2 * 3 * 3 * 2 * 2 * 3);
    for (const auto &c : cases) {
        settings again;
        problem prb;
        for (const auto &word : split(repro(c), ' ')) {
            const auto equals = word.find('=');
            if (word.compare(0, 2, "--") == 0)
                set(again, word.substr(2, equals - 2), word.substr(equals + 1));
            else
                prb = parse_problem(word);
        }
        const auto read = again.cases_for(prb);
        ASSERT_EQ(read.size(), 1u) << repro(c);
        ASSERT_EQ(read[0], c) << repro(c);
    }
}

// ---- Layouts and problems ----------------------------------------------------------------------------------

TEST(dqbench_layout, strides_for_extents) {
    struct row {
        std::string text;
        dims extents, strides;
    };
    for (const auto &[text, extents, strides] : {
                 // A tag is the order of the dims, outermost first.
                 row {"abcd", {2, 3, 4, 5}, {60, 20, 5, 1}},
                 row {"acdb", {2, 3, 4, 5}, {60, 1, 15, 3}},
                 row {"ba", {2, 3}, {1, 2}},
                 row {"a", {7}, {1}},
                 row {"abcdefghijkl", dims(12, 1), dims(12, 1)},
                 // x stands for the dims that are not named, maybe none.
                 row {"abx", {2, 3, 4, 5}, {60, 20, 5, 1}},
                 row {"axb", {2, 3, 4, 5}, {60, 1, 15, 3}},
                 row {"xba", {2, 3, 4, 5}, {1, 2, 30, 6}},
                 row {"axb", {}, {}},
                 row {"axb", {7}, {1}},
                 row {"axb", {2, 3}, {3, 1}},
                 row {"xba", {2, 3}, {1, 2}},
                 row {"abx", {2, 0, 3}, {3, 3, 1}}, // 0 counts as 1
                 row {"strides:12x4x0", {2, 3, 4}, {12, 4, 0}},
                 row {"strides:scalar", {}, {}},
         })
        EXPECT_EQ(layout::parse(text).strides_for(extents), strides) << text;
}

TEST(dqbench_layout, reads_back_what_it_shows) {
    for (const auto *text : {"abx", "acdb", "any", "strides:12x4x1"})
        EXPECT_EQ(layout::parse(text).to_string(), text);
}

TEST(dqbench_problem, is_dims_with_an_optional_name) {
    EXPECT_EQ(parse_problem("8x64x56x56"), (problem {{8, 64, 56, 56}, ""}));
    EXPECT_EQ(parse_problem("7"), (problem {{7}, ""}));
    EXPECT_EQ(parse_problem("0x3"), (problem {{0, 3}, ""}));
    EXPECT_EQ(parse_problem("scalar"), (problem {{}, ""}));
    EXPECT_EQ(parse_problem("8x64n\"net:conv_1*3\""), (problem {{8, 64}, "net:conv_1*3"}));
    EXPECT_EQ(parse_problem("8x64_n\"a&b\""), (problem {{8, 64}, "a&b"})); // as benchdnn writes it
    EXPECT_EQ(parse_problem("8x64nconv"), (problem {{8, 64}, "conv"}));    // after the shell's unquoting
    EXPECT_EQ(parse_problem("scalarn\"bias\""), (problem {{}, "bias"}));
}

TEST(dqbench_problem, reads_back_what_it_shows) {
    for (const auto *text : {"8x64x56x56", "scalar", "0", "3x5n\"resnet50:fc\""})
        EXPECT_EQ(to_string(parse_problem(text)), text);
}

} // namespace

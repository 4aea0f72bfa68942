// dqbench refuses what it cannot understand: options, problems, batch files, graphs in JSON; and names the place.
#include "dqbench/dqbench_support.hpp"
#include "has.hpp"
#include "layout.hpp"
#include "options.hpp"
#include "perf_template.hpp"
#include "problem.hpp"
#include "runner.hpp"

namespace {

using namespace dqbench;
using namespace dqbench::tests;

using dqbench_reader_refusals = dqbench_reader;
using dqbench_graph_refusals = dqbench_graph;

using dynquant::test::has;

/// What is given to a call, and what the message must name.
struct row {
    std::string given;
    std::vector<std::string> parts;
};
/// Expects the call to refuse what each row gives it.
template <typename F>
auto refused_by(F &&call) {
    return [call](const std::vector<row> &rows) {
        for (const auto &[given, parts] : rows)
            try {
                call(given);
                ADD_FAILURE() << "no usage_error for " << given;
            } catch (const usage_error &e) {
                EXPECT_TRUE(has(e.what(), parts)) << testing::PrintToString(parts) << "\nis not in\n" << e.what();
            }
    };
}

TEST(dqbench_refusals, layout_refuses_what_is_no_permutation) {
    refused_by(layout::parse)({{"nChw16c", {"given 'nChw16c', with blocks, which dynquant has not"}}});
    refused_by(layout::parse)({{"aby", {"given 'aby' (did you mean 'abx'?)"}}, {"nchx", {"(did you mean 'nchw'?)"}},
            {"Any", {"(did you mean 'any'?)"}}});
    for (const std::string text : {"", "aab", "ac", "xbx", "aBx16b", "nchx", "nhw", "Any", "stride:1", "abcdefghijklm"})
        refused_by(layout::parse)({{text, {"expected", "given '" + text + "'"}}});
    refused_by(layout::parse)({{"strides:4x-1", {"given '-1'"}}, {"strides:4x1b", {"given '1b'"}}});
}

TEST(dqbench_refusals, layout_refuses_another_rank) {
    const auto refused_for = [](const std::vector<std::int64_t> &extents) {
        return refused_by([=](auto &text) { layout::parse(text).strides_for(extents); });
    };
    refused_for({2, 3})({{"acdb", {"acdb", "rank 4", "rank 2"}}, {"strides:3", {"strides:3", "rank 1", "rank 2"}}});
    refused_for({2, 3, 4})({{"any", {"expected", "given any"}}});
    refused_for(std::vector<std::int64_t>(13, 1))({{"abx", {"expected rank 0 to 12, given rank 13"}},
            {"strides:1", {"expected rank 0 to 12, given rank 13"}}});
    refused_for({0, INT64_MAX, 3})({{"abx", {"expected", "63 bits", "given abx"}}});
}

TEST(dqbench_refusals, problem_refuses_bad_numbers_and_names) {
    const std::vector<row> rows = {{"", {"given ''"}}, {"8x", {"given ''"}}, {"x8", {"given ''"}},
            {"8xx8", {"given ''"}}, {"-5x3", {"given '-5'"}}, {"+5", {"given '+5'"}}, {"5 ", {"given '5 '"}},
            {"5.0", {"given '5.0'"}}, {"0x10h", {"given '10h'"}},
            {"9223372036854775808", {"from 0 to 9223372036854775807", "given '9223372036854775808'"}},
            {"4294967296x4294967296", {"63 bits"}}, {"1x1x1x1x1x1x1x1x1x1x1x1x1", {"rank 0 to 12", "given rank 13"}},
            {"3n", {"name", "given ''"}}, {"3n\"\"", {"name", "given ''"}}, {"3n\"a b\"", {"name", "given 'a b'"}},
            {"3n$HOME", {"name", "given '$HOME'"}}};
    refused_by(parse_problem)(rows);
    for (const auto &[text, parts] : rows)
        refused_by(parse_problem)({{text, {"problem '" + text + "'", "expected"}}});
}

TEST(dqbench_refusals, options_refuse_bad_values_and_keep_the_state) {
    const problem prb {{2, 3}, "name"};
    settings s;
    const auto refused = refused_by([&](auto &text) {
        const auto at = text.find('=');
        s.set(*find_option(text.substr(0, at)), text.substr(at + 1));
    });
    refused({{"op=Quantise", {"given 'Quantise'", "'Quantize'?"}},
            {"mode=X", {"expected L, I, R, C, B, P, CP or F", "given 'X'"}}, {"mode=C,P", {"given 'C,P'"}},
            {"mode=PC", {"expected CP to check and measure, given 'PC'"}},
            {"mode=S", {"expected another mode, given S", "write --mode=P --fix-times-per-prb=1"}},
            {"impl=ref,", {"expected names", "given 'ref,'"}}, {"skip-impl=a$b", {"expected names", "given 'a$b'"}},
            {"qtype=per_channel,", {"expected per_tensor, per_channel or per_group", "given ''"}},
            {"dt=f32:f32:s8", {"expected SRC:SCALES:ZPS:DST", "given 'f32:f32:s8'"}},
            {"dt=f32:f32:undef:u9", {"given 'u9'", "'u8'?"}}, {"dt=undef:f32:undef:u8", {"given 'undef'"}},
            {"kernel=nativ", {"given 'nativ'", "'native'?"}},
            {"kernel=limit", {"expected auto, native, onednn or reference", "given 'limit'"}},
            {"isa=sse", {"expected auto, scalar, avx2, avx512 or neon", "given 'sse'"}},
            {"peer=onednn", {"expected flat, onednn_graph, onednn_reorder or xnnpack", "given 'onednn'"}},
            {"peer=xnnpak", {"given 'xnnpak'", "'xnnpack'?"}}, {"peer=flat,", {"given ''"}},
            {"peer=flat,none", {"expected none alone", "given 'flat,none'"}},
            {"peer=flat,xnnpack,flat", {"expected each peer once", "given 'flat,xnnpack,flat'"}},
            {"api=grph", {"given 'grph'", "'graph'?"}}, {"cache=hot", {"expected warm or cold", "given 'hot'"}},
            {"scales=absmin", {"given 'absmin'", "'absmax'?"}}, {"scales=mx_flor", {"given 'mx_flor'", "'mx_floor'?"}},
            {"scales=0.5x", {"given ''"}}, {"offset=64", {"an integer from 0 to 63", "given '64'"}},
            {"offset=-1", {"given '-1'"}}, {"threads=-1", {"from 0 to 1024", "given '-1'"}},
            {"threads=1,2000", {"given '2000'"}}, {"axis=one", {"given 'one'"}},
            {"axis=9223372036854775808", {"given '9223372036854775808'"}}, {"stag=any", {"given any", "dst only"}},
            {"max-ms-per-prb=0", {"from 1 to 60000", "given '0'"}}, {"max-ms-per-prb=nan", {"given 'nan'"}},
            {"max-ms-per-prb=1e", {"given '1e'"}}, {"fix-times-per-prb=1e3", {"given '1e3'"}}});
    EXPECT_EQ(s.cases_for(prb).at(0), (test_case {.prb = prb}));
}

TEST(dqbench_refusals, perf_template_refuses_unknown_and_open_fields) {
    refused_by(perf_template::parse)({{"%tme%", {"'%tme%'", "'time'?"}}, {"a%time", {"expected a %", "'%time'"}},
            {"%ratio:xnpack%", {"given 'xnpack'", "'xnnpack'?"}}, {"%peertime:%", {"given ''"}},
            {"%time:xnnpack%", {"expected", "%peertime: or %ratio: only", "given '%time:xnnpack%'"}}, {"%%", {"'%%'"}},
            {"%DESC%", {"unknown field '%DESC%'", "'desc'?"}}, {"%-Gtmie%", {"unknown field '%-Gtmie%'", "'time'?"}},
            {"%G-bw%", {"'%G-bw%': expected -, ~, 0 or + before the unit, as in %-Gbw%"}}});
    // Those of benchdnn.
    for (const auto &[field, instead] : {std::pair {"Gops", "dqbench counts no operations: write %iobytes%"},
                 {"-Gflops", "dqbench counts no operations: write %elems% or %bw%"},
                 {"flags", "no operator of dqbench has it: leave it out"}, {"-cpdtime", "write %ctime%"},
                 {"cptime", "write %ctime%"}, {"0clocks", "dqbench counts no clocks: write %time%"},
                 {"driver", "write %op%"}, {"Driver", "write %op%"},
                 {"attr", "write %qtype%, %axis%, %group% and %dt%"}, {"tag", "write %stag% and %dtag%"},
                 {"mb", "write %desc%"}, {"cfg", "write %dt%"}, {"dir", "no operator of dqbench has it"}}) {
        const auto given = "'%" + std::string(field) + "%' is a field of benchdnn alone: ";
        refused_by(perf_template::parse)({{"%prb%,%" + std::string(field) + "%", {given + instead}}});
    }
}

TEST_F(dqbench_reader_refusals, bad_options_values_and_patterns) {
    expect_refused({"--threads=many"}, "--threads: expected an integer from 0 to 1024, given 'many'");
    const auto refused = refused_by([&](auto &argument) { read({argument}); });
    refused({{"--qtpye=per_tensor", {"'--qtpye'", "'--qtype'?"}}, {"--bach=x", {"'--bach'", "'--batch'?"}},
            {"-mode=C", {"'-mode'", "'--mode'?"}}, {"--", {"'--'"}}, {"-", {"'-'"}}, {"--=3", {"'--'"}},
            {"--mode", {"--mode: expected a value", "--mode=VALUE"}}, {"--batch", {"--batch: expected a value"}},
            {"--reset=1", {"--reset: expected no value"}},
            {"--match=(", {"--match: expected a regular expression", "given '('"}},
            {"--match=" + std::string(1000, '('), {"--match: expected a regular expression", "given '(("}},
            {"--perf-template=%tiem%", {"--perf-template", "'%tiem%'", "'time'?"}}});
    for (const char each : {'a', '('})
        for (const std::size_t count : {1001U, 30000U, 1000000U})
            refused({{"--match=" + std::string(count, each),
                    {"--match: expected a regular expression", "1000 characters",
                            "given one of " + std::to_string(count)}}});
}

/// What benchdnn has and dqbench has not says what to write instead.
TEST_F(dqbench_reader_refusals, options_of_benchdnn) {
    const auto refused = refused_by([&](auto &line) {
        lines arguments;
        for (const auto &argument : split(line, ' '))
            arguments.push_back(argument);
        read(arguments);
    });
    refused({
            {"--engine=gpu", {"--engine: ", "write --engine=cpu", "given 'gpu'"}},
            {"--engine", {"--engine: expected a value, as in --engine=VALUE"}},
            {"--cpu-isa-hints=prefer_ymm", {"write --isa=avx2"}},
            {"--memory-kind=buffer", {"for GPUs: leave it out"}},
            {"--stream-kind=in_order", {"for GPUs"}},
            {"--num-streams=2", {"for GPUs"}},
            {"--execution-mode=graph", {"for GPUs"}},
            {"--ctx-init=2", {"--ctx-init: write --threads=N, given '2'"}},
            {"--ctx-exe=4:0", {"write --threads=N"}},
            {"--mode-modifier=X", {"--mode-modifier: expected P, M or PM, given 'X'"}},
            {"--mode=F --max-ms-per-prb=2000",
                    {"--max-ms-per-prb: expected --mode=F, which measures for 10 ms, or --max-ms-per-prb, given both: "
                     "write --mode=P --max-ms-per-prb=2000"}},
            {"--max-ms-per-prb=5 --mode=f", {"--mode: expected --mode=F", "write --mode=P --max-ms-per-prb=5"}},
            {"--global-impl=ref", {"write --kernel=native, onednn or reference"}},
            {"--global-skip-impl=ref", {"write --skip-impl=NAME,..., which --reset clears, or --kernel=native"}},
            {"--expected-n-partitions=x", {"--expected-n-partitions: expected an integer from ", "given 'x'"}},
            {"--buffer-prefix=a", {"write --data, --params"}},
            {"--attr-same-pd-check=true", {"leave it out"}},
            {"--check-ref-impl=1", {"write --skip-impl=ref"}},
            {"--fast-ref=maybe", {"--fast-ref: expected false|0|true|1, given 'maybe'"}},
            {"--cold-cache=wei", {"write --cold-cache=all"}},
            {"--cold-cache=all+tlb:1G", {"expected none or all, without extensions", "given 'all+tlb:1G'"}},
            {"--attr-fpmath=fast:true", {"--fpmath-mode: expected strict, bf16, f16, tf32 or any", "given 'fast'"}},
            {"--attr-scratchpad=mine", {"expected library|user, given 'mine'"}},
            {"--canonical=maybe", {"--canonical: expected false|0|true|1, given 'maybe'"}},
            {"--attr-acc-mode=f16", {"no operator of dqbench has this attribute"}},
            {"--attr-rounding-mode=dst:stochastic", {"rounds to nearest, ties to even"}},
            {"--attr-dropout=0.5", {"attribute: leave it out"}},
            {"--attr-deterministic=maybe", {"expected true|1|false|0, given 'maybe'"}},
            {"--dir=FWD_D", {"--dir: benchdnn has it for drivers other than --graph and --reorder"}},
            {"--conv", {"--conv: dqbench has no such driver: expected --graph or --reorder"}},
            {"--matmul 3x4:4x5", {"--matmul: dqbench has no such driver"}},
            {"--graph --reorder", {"--reorder: expected one driver, given --graph before it"}},
            {"--graph 8x64", {"expected --case=FILE after --graph, given '8x64'"}},
            {"--reorder --case=g.json", {"expected dims, as in 2x64x3x3, after --reorder, given --case=g.json"}},
            {"--graph=1", {"--graph: expected no value"}},
            // Options of the reorder driver without it, and the reverse.
            {"--sdt=f32", {"--sdt: expected --reorder before it", "write --dt=SRC:SCALES:ZPS:DST"}},
            {"--strides=6x1:", {"--strides: ", "write --stag=strides:12x4x1"}},
            {"--attr-scales=src:common:2", {"write --qtype, --axis, --group and --scales"}},
            {"--reorder --dt=f32:f32:undef:s8",
                    {"--dt: expected options of benchdnn's reorder driver", "--sdt, --ddt"}},
            {"--qtype=per_channel --reorder", {"--reorder: expected no --qtype before it"}},
            {"--dt=0:s8+2:s8", {"--dt: ", "a graph's types are given after --graph", "given '0:s8+2:s8'"}},
            // Values.
            {"-v", {"--verbose: expected an integer", "given ''"}},
            {"-v1.5", {"--verbose: ", "given '1.5'"}},
            {"-vv", {"unknown option '-vv'"}},
            {"-version", {"unknown option '-version'", "'--version'?"}},
            {"--start=-1", {"--start: expected an integer from 0"}},
            {"--repeats-per-prb=x", {"given 'x'"}},
            {"--summary=fails", {"--summary: expected failures, impl or impl-csv", "given 'fails'"}},
            {"--reorder --sdt=f31", {"--sdt: ", "given 'f31'", "'f32'?"}},
            {"--reorder --stag=nchx", {"--stag: expected a layout", "given 'nchx'"}},
            {"--reorder --strides=2x1 2x2", {"--strides: expected SRC:DST", "given '2x1'"}},
            {"--reorder --cross-engine=cpu", {"--cross-engine: expected none, cpu2gpu or gpu2cpu"}},
            {"--reorder --runtime-dim-mask=all", {"--runtime-dim-mask: expected an integer"}},
            {"--reorder --attr-scales=wei:common:2", {"expected attributes of src or dst, given 'wei:common:2'"}},
            {"--reorder --attr-scales=src:per_oc", {"expected per_dim_0 or per_dim_1", "given 'src:per_oc'"}},
            {"--reorder --attr-zero-points=dst:mx:e8m0:1x32",
                    {"--attr-zero-points: expected another mask than that of computed scales, "
                     "given 'dst:mx:e8m0:1x32'"}},
            {"--reorder --attr-scales=src:common", {"expected a value after common"}},
            {"--reorder --attr-scales=src:everywhere:2",
                    {"expected common, host_scalar, per_dim_0, per_dim_1, per_dim_2, per_dim_3, per_dim_01, per_ocic, "
                     "per_tensor or the number of a mask, given 'src:everywhere:2'"}},
            {"--reorder --attr-scales=dst:per_dim_1:0.5",
                    {"--attr-scales: expected a data type or nothing after per_dim_1, as a value stands after common "
                     "or "
                     "host_scalar and dqbench draws others, given 'dst:per_dim_1:0.5'"}},
            {"--reorder --attr-zero-points=src:2:-1", {"--attr-zero-points: ", "after 2, as", "given 'src:2:-1'"}},
            {"--reorder --attr-scales=src:per_dim_1:f31:1x2",
                    {"--attr-scales: expected a data type after per_dim_1, given 'src:per_dim_1:f31:1x2'", "'f32'?"}},
            {"--reorder --attr-scales=src:common:2:e8m1", {"expected a data type after 2, given 'src:common:2:e8m1'"}},
            {"--reorder --oflag=rubbish --ddt=s8 4",
                    {"--oflag: expected s8s8_comp:MASK or zp_comp:MASK, given 'rubbish'"}},
            {"--reorder --oflag=s8s8_comp:1+zp_comp", {"given 'zp_comp'"}},
            {"--reorder --oflag=zp_comp:all", {"--oflag: expected an integer from 0", "given 'all'"}},
            {"--reorder --attr-post-ops=sum+rubbish",
                    {"--attr-post-ops: expected a kind of post-op, as in sum:0.5, given 'rubbish'"}},
            {"--reorder --attr-post-ops=sun:0.5", {"given 'sun:0.5'", "'sum'?"}},
            {"--reorder --attr-scales=src:common:2+src0:common:3", {"expected src and dst once each"}},
            {"--reorder --attr-scales=src", {"expected ARG:MASK[:VALUE[:TYPE]]", "given 'src'"}},
            {"--reorder --attr-scales=src:per_tensor:f32:0x4", {"expected groups of 1 or more elements"}},
            {"--reorder --attr-zero-points=src:common:2.5", {"--attr-zero-points: expected an integer", "given '2.5'"}},
            {"--reorder --ddt=s8 --stag=nhwc --strides=4x1: 2x3",
                    {"--strides: expected no --stag beside strides, given nhwc"}},
    });
}

TEST_F(dqbench_reader_refusals, a_rule_of_scales_beside_another_rounding) {
    expect_refused(
            {"--rule=onednn", "--scales=absmax", "4x4"}, "--scales=absmax: expected --rule=onnx, given --rule=onednn");
    expect_refused({"--scales=absmax", "--rule=onnx,onednn", "4x4"}, "expected --rule=onnx, given --rule=onednn");
    EXPECT_EQ(read({"--scales=absmax", "4x4"}),
            (lines {"--api=direct --op=DynamicQuantize --dt=f32:f32:undef:s8 --rule=onnx --scales=absmax 4x4"}));
}

/// oneDNN's matmul and reorder compute such scales; dqbench has options of its own for them.
TEST_F(dqbench_reader_refusals, computed_scales_of_a_reorder_run_with_the_options_that_the_message_offers) {
    for (const auto &[options, offered] : {
                 std::pair<std::string, std::string> {"--ddt=f4_e2m1 --attr-scales=dst:dynamic_fp:f8_e4m3:1x16",
                         "--scales=onednn_dynamic_fp --dt=f32:f8_e4m3:undef:f4_e2m1 --qtype=per_group --group=1x16"},
                 {"--sdt=bf16 --ddt=f8_e5m2 --attr-scales=dst:mx:e8m0:1x8",
                         "--scales=mx_floor --dt=bf16:f8_e8m0:undef:f8_e5m2 --qtype=per_group --group=1x8"},
                 // Types that the rule has not, and none.
                 {"--ddt=u8 --attr-scales=dst:mx",
                         "--scales=mx_floor --dt=f32:f8_e8m0:undef:f8_e4m3 --qtype=per_group --group=1x32"},
                 {"--sdt=s8 --attr-scales=dst:dynamic_fp:e8m0",
                         "--scales=onednn_dynamic_fp --dt=f32:f8_e4m3:undef:f4_e2m1 --qtype=per_group --group=1x16"},
                 {"--ddt=s8 --attr-scales=dst:dynamic_fp:f16:2x4",
                         "--scales=onednn_dynamic_fp --dt=f32:f16:undef:s8 --qtype=per_group --group=2x4"},
         }) {
        auto line = split("--reorder " + options, ' ');
        line.emplace_back("64x64");
        expect_refused(line,
                "--attr-scales: expected scales that are given; for computed ones write " + offered
                        + " in place of --reorder and its options, given 'dst:");
        auto arguments = split("--mode=R " + offered, ' ');
        arguments.emplace_back("64x64");
        phase_times times;
        const auto changed = run_case(jobs_of(arguments).at(0).what, times);
        EXPECT_EQ(changed.state, case_state::executed) << offered << ": " << changed.reason;
    }
}

/// What runs a case that the library refuses is found by trying, and is enough.
TEST_F(dqbench_reader_refusals, a_refused_case_runs_with_the_options_that_the_message_offers) {
    const auto run = [&](const std::string &options) {
        auto arguments = split("--mode=R " + options, ' ');
        arguments.emplace_back("8x64");
        phase_times times;
        return run_case(jobs_of(arguments).at(0).what, times);
    };
    for (const auto &[options, offered] : {
                 std::pair<std::string, std::string> {
                         "--op=Quantize --dt=f32:f32:undef:s16", "--api=direct --op=DynamicQuantize --rule=onnx"},
                 {"--op=Dequantize --dt=s2:f32:undef:f32", "--api=direct --op=DynamicDequantize --rule=onnx"},
                 {"--dt=f32:f32:undef:u16", "--api=direct --rule=onnx"},
                 {"--dtag=any --dt=f32:f32:undef:f8_e5m2", "--api=direct --dtag=abx"},
                 {"--dtag=any --api=direct", "--dtag=abx"},
                 {"--peer=onednn_graph --dt=f32:f8_e4m3:undef:f4_e2m1", "--api=direct --peer=none --rule=onnx"},
                 {"--peer=flat,xnnpack --dt=f32:f32:undef:u16", "--api=direct --peer=flat --rule=onnx"},
                 {"--dt=f32:f32:undef:f8_e5m2", "--api=direct"},
                 {"--kernel=onednn --dt=f32:f32:undef:f8_e5m2", "--kernel=auto --api=direct"},
                 {"--op=Quantize --dt=f32:f32:undef:u4", "--api=direct"},
                 {"--qtype=per_group --group=48", "--api=direct"},
         }) {
        const auto refused = run(options);
        EXPECT_EQ(refused.state, case_state::invalid_arguments) << options;
        const std::string before = "; it runs with ";
        const auto at = refused.reason.find(before);
        ASSERT_NE(at, std::string::npos) << options << ": " << refused.reason;
        EXPECT_EQ(refused.reason.substr(at + before.size()), offered) << options;
        const auto changed = run(options + ' ' + refused.reason.substr(at + before.size()));
        EXPECT_EQ(changed.state, case_state::executed) << options << ": " << changed.reason;
    }
    for (const std::string options : {"--qtype=per_channel --axis=7", "--dt=s8:f32:undef:u8", "--stag=acdb"}) {
        const auto refused = run(options);
        EXPECT_EQ(refused.state, case_state::invalid_arguments) << options;
        EXPECT_EQ(refused.reason.find("it runs with"), std::string::npos) << refused.reason;
    }
}

TEST_F(dqbench_reader_refusals, batch_files) {
    write("inner", "# comment\n3\n\n3x-1\n");
    write("outer", "--batch=inner");
    write("missing", "\n--batch=nowhere");
    write("list", "--stag=abx,\n\n  axB 3");
    write("self", "1\n--batch=self");
    write("a", "--batch=b");
    write("b", "\n\n--batch=./a");
    const auto in = [&](const std::string &name) { return (folder / name).string(); };
    const auto refused = refused_by([&](auto &file) { read({"--batch=" + file}); });
    refused({
            {in("outer"), {in("inner") + ":4:", "problem '3x-1'", "given '-1'"}},
            {in("missing"), {in("missing") + ":2:", "'nowhere' was not found", in("nowhere"), in("inputs/nowhere")}},
            {in("list"), {in("list") + ":1: --stag: expected", "given 'axB'"}},
            {in("self"), {in("self") + ":2:", "'" + in("self") + "' includes itself"}},
            {in("a"), {in("b") + ":3:", "'" + in("a") + "' includes itself"}},
            {folder.string(), {"'" + folder.string() + "'", "directory"}},
            {"nowhere", {"'nowhere' was not found"}},
            {in("outr"), {"'" + in("outr") + "' was not found", "(did you mean 'outer'?)"}},
            {"", {"cannot read batch file"}},
    });
}

TEST_F(dqbench_graph_refusals, what_cannot_be_rewritten_is_refused) {
    const std::string shapes = "--in-shapes", attributes = "--op-attrs", tag = "expected strides or a tag";
    const auto refused = refused_by([&](auto &argument) { jobs(graph(quantize), {argument}); });
    refused({
            {"--in-shapes=5:2", {file, shapes, "no input or output 5"}},
            {"--in-shapes=2:2", {file, "dst: expected the dims of src, 2x3, given 2"}},
            {"--in-shapes=2x3", {shapes, "expected ID:VALUE", "given '2x3'"}},
            {"--in-shapes=1:", {shapes, "expected ID:VALUE", "given '1:'"}},
            {"--in-shapes=-1:3", {shapes, "expected an id from 0 to", "given '-1'"}},
            {"--in-shapes=1:3+1:4", {shapes, "expected each id once", "given 1 again"}},
            {"--in-shapes=1:two", {shapes, "given 'two'"}},
            {"--in-shapes=1:2x3*", {shapes, tag, "given ''"}},
            {"--in-shapes=1:2x3*any", {shapes, tag, "given 'any'"}},
            {"--in-shapes=1:*acb", {shapes, "acb", "rank 3", "rank 2"}},
            {"--op-attrs=1:axis:0", {attributes, "no op 1", file}},
            {"--op-attrs=7:axis", {attributes, "expected NAME:VALUE", "given 'axis'"}},
            {"--op-attrs=7:axes:1", {attributes, "op 7 (Quantize)", "axes"}},
            {"--op-attrs=7:qtype:x", {attributes, "qtype: expected per_tensor, per_channel or per_group", "given 'x'"}},
            {"--op-attrs=7:scales:a", {file, "op 7 'n' (Quantize)", "expected numbers", "given 'a'"}},
            {"--op-attrs=7:scales:absmax",
                    {file, "op 7 'n' (Quantize): scales: expected numbers, as in 0.5x0.25, given 'absmax'"}},
            {"--op-attrs=7:zps:minmax", {"op 7 'n' (Quantize): zps: expected numbers, as in 3x-1, given 'minmax'"}},
    });
}

/// --op-kind refuses the four ops, so that it offers none of them.
TEST_F(dqbench_graph_refusals, a_kind_of_op_that_is_misspelled) {
    expect_refused(graph(quantize), "given 'Sigmoyd' (did you mean 'Sigmoid'?)", {"--op-kind=0:Sigmoyd"});
    const auto told =
            dynquant::test::message_of<usage_error>([&] { jobs(graph(quantize), {"--op-kind=0:DynamicDequantise"}); });
    EXPECT_EQ(told, "--op-kind: expected a word of oneDNN Graph after ID:, given 'DynamicDequantise'");
}

TEST_F(dqbench_graph_refusals, files_that_contradict_themselves_or_have_wrong_values) {
    const auto with = [](const std::string &attrs, const std::string &src = x, const std::string &dst = y) {
        return graph(op(7, "Quantize", attrs, src, dst));
    };
    const auto with_src = [&](auto &type, auto &shape) { return with(scales("1"), strided(1, type, shape, "1")); };
    const auto dynamic = [](const std::string &attrs, const std::string &inputs) {
        return graph(op(7, "DynamicQuantize", attrs, inputs, y));
    };
    const std::string id = "/graph/0/id: expected an id, an integer from 0 to 2^64 - 1",
                      extent = "/graph/0/inputs/0/shape/0: expected an integer", attrs = "/graph/0/attrs/",
                      word = "expected a word of oneDNN Graph";
    const auto refused = refused_by([&](auto &content) { jobs(content); });
    refused({
            {graph(quantize + ", " + quantize), {file, "/graph/1/id: expected an id of its own", "given 7"}},
            {with(scales("1, 2")), {file, "op 7 'n' (Quantize): scales: expected 1", "given 2"}},
            {with(scales("1"), x, strided(2, "u8", "3, 2", "2, 1")),
                    {file, "dst: expected the dims of src, 2x3", "given 3x2"}},
            {dynamic(per_channel, x + ", " + strided(5, "f32", "2", "1")),
                    {file, "op 7 'n' (DynamicQuantize): scales: expected 3", "given 2"}},
            {with_src("f32", "2, 3"), {file, "/graph/0/inputs/0/stride: expected 2 strides", "given an array"}},
            {"[]", {file, "/: expected an object", "given an array"}},
            {"{}", {file, "/: expected the key 'graph'"}},
            {graph(""), {file, "/graph: expected an op", "given an array"}},
            {graph("7"), {file, "/graph/0: expected an object", "given 7"}},
            {graph("{}"), {file, "/graph/0: expected the key 'id'"}},
            {graph(R"({"id": -1})"), {file, id, "given -1"}},
            {graph(R"({"id": 1e3})"), {file, id, "given 1000.0"}},
            {graph(op(7, "Quantise", "", x, y)), {file, "/graph/0/kind: " + word, "'Quantize'?", "given \"Quantise\""}},
            {with(""), {file, "/graph/0: expected", "attribute scales"}},
            {with(scales("1"), x + ", " + x), {file, "/graph/0/inputs: expected one input, src", "given an array"}},
            {dynamic("", x), {file, "/graph/0/inputs: expected src, scales and perhaps zps", "given an array"}},
            {with(scales("1"), x, ""), {file, "/graph/0/outputs: expected one output, dst", "given an array"}},
            {with_src("f33", "2"), {file, "/graph/0/inputs/0/dtype: " + word, "'f32'?", "given \"f33\""}},
            {with_src("f32", "-2"), {file, extent + " from 0 on", "given -2"}},
            {with_src("f32", "2.5"), {file, extent + " of 64 bits", "given 2.5"}},
            {with_src("f32", "9223372036854775808"), {file, extent + " of 64 bits", "given 9223372036854775808"}},
            {with(R"("axes": 3)"), {file, attrs + "axes: expected an attribute that the four ops have", "given 3"}},
            {with(attribute("axis", "f32", "1")), {file, attrs + "axis/type: expected \"s64\"", "given \"f32\""}},
            {with(scales("1e39")), {file, attrs + "scales/value/0: expected a finite f32", "given 1e+39"}},
            {with(attribute("qtype", "string", R"("per_row")")),
                    {file, attrs + "qtype/value: " + word, "given \"per_row\""}},
            {with(scales("1") + ", " + zps("99999999999")), {file, "op 7 'n' (Quantize)", "expected", "given"}},
    });
}

TEST_F(dqbench_graph_refusals, huge_tensors_are_refused_or_need_no_memory) {
    const auto sized = [](const std::string &shape, const std::string &attrs) {
        return graph(op(7, "Quantize", attrs, tensor(1, "f32", shape, ""), tensor(2, "u8", shape, "")));
    };
    const std::string most = "9223372036854775807", one = per_channel + ", " + scales("1");
    EXPECT_EQ(jobs(sized("1, " + most, one)).size(), 1u);
    EXPECT_EQ(jobs(sized("1, " + most, one + ", " + zps("0"))).size(), 1u);
    const auto refused = refused_by([&](auto &content) { jobs(content); });
    refused({
            {sized("1, " + most, one + ", " + zps("1")), {"zps: expected at most 1048576 channels", "given " + most}},
            {sized(most + ", 2", scales("1")), {file, "op 7 'n' (Quantize)"}},
            {sized("1,1,1,1,1,1,1,1,1,1,1,1,1", scales("1")),
                    {file, "op 7 'n' (Quantize)", "rank 0 to 12, given rank 13"}},
    });
}

TEST_F(dqbench_graph_refusals, files_that_cannot_be_read_are_refused) {
    const auto here = folder.string();
    dqbench_reader::write("dynamicdq_s4.json", "{}");
    const auto refused = refused_by([&](auto &path) { reader(folder).read_arguments({"--case=" + path}); });
    refused({
            {"nowhere", {"'nowhere' was not found", (folder / "nowhere").string()}},
            {here, {"'" + here + "'", "directory"}},
            {here + "/dynamicdq_s4", {"was not found", "(did you mean 'dynamicdq_s4.json'?)"}},
            {here + "/dynamicd_s4.json", {"was not found", "(did you mean 'dynamicdq_s4.json'?)"}},
            {"/dev/zero", {"'/dev/zero'", "expected at most 67108864 bytes"}}, // endless
    });
    refused_by([&](auto &content) { jobs(content); })({
            {"", {file, "line 1, column 1:"}},
            {"{\n \"graph\": x}", {file, "line 2, column 11:"}},
            {"\"\xff\"", {file, "line 1, column 2:"}},
            {"[1e999]", {file, "number overflow", "'1e999'"}},
            {std::string(1 << 20, '['), {file, "line 1, column 1048577:"}},
    });
}

TEST_F(dqbench_graph_refusals, nesting_may_be_deep) {
    constexpr int depth = 1 << 20;
    const auto nested = std::string(depth, '[') + std::string(depth, ']');
    expect_refused(R"({"graph": )" + nested + "}", file + ": /graph/0: expected an object, given an array");
    EXPECT_EQ(jobs(R"({"unknown": )" + nested + ", " + graph(quantize).substr(1)).size(), 1u);
}

TEST_F(dqbench_graph_refusals, every_truncation_is_refused) {
    const auto whole = graph(quantize);
    for (std::size_t length = 0; length < whole.size(); ++length)
        expect_refused(whole.substr(0, length), file + ": parse error at line 1");
}

TEST_F(dqbench_graph_refusals, every_changed_byte_is_understood_or_refused) {
    const auto whole = graph(quantize);
    for (std::size_t i = 0; i < whole.size(); ++i)
        for (const char c : {'0', '9', '-', '"', '[', '}', 'x', '\0', '\xff'}) {
            auto changed = whole;
            changed[i] = c;
            expect_understood_or_refused(changed);
        }
}

} // namespace

// dqbench, run as a program, gives the right exit status, stdout and stderr, and its __REPRO works in a shell.
#include <fstream>
#include <tuple>

#include "dqbench.hpp"

namespace {

using namespace dynquant::test;
namespace fs = std::filesystem;

TEST_F(dqbench, prints_a_result_line_and_a_summary) {
    const auto out = succeed("8x64n\\\"fc\\\"");
    const std::regex expected("0:PASSED \\([a-z]+:[a-z0-9:_]+\\) \\([0-9]+ ms\\) __REPRO: "
                              "--op=DynamicQuantize --dt=f32:f32:undef:s8 8x64n\"fc\"\n"
                              "tests:1 passed:1 skipped:0 mistrusted:0 unimplemented:0 invalid_arguments:0 failed:0 "
                              "listed:0\n"
                              "total: [0-9.]+s;.*\n");
    EXPECT_TRUE(std::regex_match(out, expected)) << out;
}

/// A row: arguments, what stdout must contain, and the environment.
TEST_F(dqbench, says_what_was_done) {
    struct row {
        std::string arguments;
        std::vector<std::string> parts;
        std::string environment = {};
    };
    const std::vector<row> rows = {
            // These run nothing, or memory would be short.
            {"--mode=L 1000000x1000000x1000", {"0:LISTED __REPRO: --mode=L", "listed:1"}},
            {"--mode=I 1000000x1000000x1000", {"0:INITIALIZED (native:", "passed:1"}},
            {"--mode=R 8x64", {"0:EXECUTED (", "tests:1 passed:1"}},
            {"--isa=scalar 8x64", {"PASSED (native:scalar)"}},
            {"--kernel=reference 8x64", {"PASSED (reference:scalar)"}},
            {"--kernel=onednn --op=Quantize --params=pow2 --dt=f32:f32:undef:u8 8x64", {"PASSED (onednn:"}},
            // The environment holds where the case says auto.
            {"8x64", {"(reference:scalar)"}, "DYNQUANT_KERNEL=reference"},
            {"--kernel=native --isa=scalar 8x64", {"(native:scalar)"},
                    "DYNQUANT_KERNEL=reference DYNQUANT_MAX_ISA=avx2"},
            {"--kernel=onednn --qtype=per_channel --dt=f32:f32:s8:u8 8x64",
                    {"0:SKIPPED (kernel refuses: ", "the zero points differ by channel", "passed:0 skipped:1"}},
            {"--stag=strides:0x0 9x100", // one value, which saturates
                    {"0:MISTRUSTED (", "only 0 of 900 results tell anything", "passed:0 skipped:0 mistrusted:1"}},
            {"--peer=flat 1000", {"    flat computes nothing that could be compared\n"}},
            {"--offset=0,7 1000", {"tests:2 passed:2"}},
            {"--api=direct --op=Quantize,DynamicQuantize --qtype=per_tensor,per_channel --dt=f32:f32:s32:u8 "
             "--threads=0,2 64x65",
                    {"tests:8 passed:8"}},
            {"--op=Quantize,DynamicQuantize --dt=f32:f32:s32:u8 --qtype=per_channel --scales=0.5x0.25x0.1 "
             "--zps=-3x40 --api=graph,direct 7x65",
                    {"tests:4 passed:4"}},
            {"--api=direct --qtype=per_channel --axis=0 "
             "--scales=absmax,onednn_dynamic_quantize --dt=f32:f32:undef:s8,bf16:f16:undef:s4 8x200 "
             "--scales=minmax,torchao_asymmetric --dt=f32:f32:u8:u8,f16:bf16:s4:s4 8x200",
                    {"tests:8 passed:8"}},
            {"--api=direct --qtype=per_group --scales=mx_floor,mx_ceil,mx_even,mx_rceil "
             "--dt=f32:f8_e8m0:undef:f8_e4m3,bf16:f8_e8m0:undef:f4_e2m1 8x200 "
             "--scales=nvfp4 --group=16 --dt=f32:f8_e4m3:undef:f4_e2m1 8x200",
                    {"tests:9 passed:9"}},
            {"--help",
                    {"  --mode", "  --op", "  --dt", "  --qtype", "  --axis", "  --stag", "  --dtag", "  --fpmath-mode",
                            "  --kernel", "  --isa", "  --threads", "  --peer", "  --api", "  --cache", "  --offset",
                            "  --params", "  --perf-template", "  --fix-times-per-prb", "  --max-ms-per-prb",
                            "  --data", "  --batch", "  --match", "  --reset", "  --help", "  --case", "  --in-shapes",
                            "  --op-attrs", "  --scales", "  --zps"}},
            {"verify --help",
                    {"--only", "--ways", "--list", "--list-statements", "--long", "--state", "--print-table",
                            "Exit status: 0 where all is equal; 1 where a digest differs"}},
    };
    for (const auto &[arguments, parts, environment] : rows) {
        const auto out = succeed(arguments, environment);
        for (const auto &part : parts)
            EXPECT_TRUE(contains(out, part)) << "\nof dqbench " << arguments;
    }
}

TEST_F(dqbench, repro_pasted_into_a_shell_gives_the_same_line) {
    const auto repros = matches(succeed("--mode=L --op=Quantize,Dequantize --qtype=per_channel --axis=-1 --params=wild "
                                        "--threads=0,3 --dtag=any,strides:40x2 3x20n\\\"a*b\\\""),
            "__REPRO: (.*)\n");
    ASSERT_EQ(repros.size(), 8u);
    for (const auto &repro : repros)
        EXPECT_EQ(matches(succeed(repro), "__REPRO: (.*)\n"), std::vector<std::string> {repro});
}

TEST_F(dqbench, performance_line_has_kernel_times_and_rates) {
    const auto out = succeed("--mode=P --fix-times-per-prb=3 1000");
    const std::regex expected(
            "Output template: perf,%kernel%.*\n"
            "perf,kernel,isa,name,prb,min_time,avg_time,spread,min_Gelems,min_Gbw,min_peertime,min_ratio\n"
            "perf,[a-z]+,[a-z0-9:_]+,,--mode=P --fix-times-per-prb=3 --op=DynamicQuantize "
            "--dt=f32:f32:undef:s8 1000,[0-9.e-]+,[0-9.e-]+,[0-9.e-]+,[0-9.e-]+,[0-9.e-]+,,\n"
            "(    the machine is busy: [^\n]*\n)?"
            "tests:1 passed:1 [^\n]*\n"
            "total perf: min\\(ms\\):[0-9.e-]+ avg\\(ms\\):[0-9.e-]+\n"
            "total: [^\n]*\n");
    EXPECT_TRUE(std::regex_match(out, expected)) << out;
}

/// A row: arguments, an expression for the lines that the template prints, and how many there are.
TEST_F(dqbench, measures_by_a_template) {
    const std::string n = "[0-9.e+-]+";
    for (const auto &[arguments, line, count] : {
                 std::tuple {"--mode=F --peer=onednn_graph '--perf-template=[%peertime%/%time%=%ratio%]' 1000",
                         "\\[" + n + "/" + n + "=" + n + "\\]", 1u},
                 {"--mode=F --threads=1 --peer=flat,onednn_graph,onednn_reorder "
                  "'--perf-template=[%peer%: %flat% %ratio% %ratio:flat%]' --dt=f32:f32:u8:u8 4096",
                         "\\[flat/onednn_graph/onednn_reorder: " + n + " " + n + "/" + n + " " + n + "\\]", 1u},
                 {"--mode=F --cache=warm,cold --offset=0,3 --peer=flat --perf-template=%cache%%offset%:%flat% 100000",
                         "(?:warm|cold)[03]:" + n, 4u},
                 {"--mode=F --api=direct --qtype=per_channel --axis=0 --scales=absmax --peer=flat "
                  "'--perf-template=[%scales%: %flat%]' 8x200",
                         "\\[absmax: " + n + "\\]", 1u},
                 {"--mode=CP --fix-times-per-prb=2 --perf-template=t:%time% 1000",
                         "0:PASSED .*\nOutput template: .*\nt:time\nt:" + n, 1u},
         }) {
        const auto out = succeed(arguments);
        EXPECT_EQ(matches("\n" + out, "\n(" + line + ")(?=\n)").size(), count) << out;
    }
}

TEST_F(dqbench, xnnpack_is_measured_or_absent) {
    for (const auto *types : {"--dt=f32:f32:u8:u8", "--dt=f32:f32:undef:s8",
                 "--op=DynamicDequantize --dt=u8:f32:u8:f32", "--op=DynamicDequantize --dt=s8:f32:undef:f32"})
        for (const auto *threads : {" --threads=1", " --threads=3"}) {
            const auto out = succeed("--mode=F --peer=xnnpack '--perf-template=<%ratio:xnnpack%>' " + std::string(types)
                    + threads + " 4096");
            EXPECT_EQ(matches(out, "\n<([0-9.e-]+|absent)>\n").size(), 1u) << out;
            if (out.find("<absent>") == std::string::npos) continue;
            EXPECT_TRUE(contains(out, "    xnnpack is absent: this dqbench was built without XNNPACK; install"));
        }
}

TEST_F(dqbench, peers_refuse_what_they_cannot_state) {
    const auto expect_note = [&](const std::string &arguments, const std::string &note) {
        const auto out = succeed("--mode=F " + arguments);
        const bool absent = out.find("xnnpack is absent: ") != std::string::npos;
        EXPECT_TRUE(absent || out.find(note) != std::string::npos) << note << "\nis not in\n" << out;
    };
    expect_note("--peer=onednn_reorder --qtype=per_channel --dt=f32:f32:u8:u8 8x64",
            "    onednn_reorder refuses: a reorder takes one zero point, the statement has one for each channel\n");
    expect_note("--peer=xnnpack --qtype=per_channel 8x64",
            "    xnnpack refuses: it takes one scale, the statement has one for each channel\n");
    expect_note("--peer=xnnpack --stag=axb 8x64x3",
            "    xnnpack refuses: it takes dense row-major tensors, the statement's have other strides\n");
    expect_note("--peer=xnnpack --dt=f32:f32:s32:u8 16 17 18 19 20 21", // one of these draws such a zero point
            "    xnnpack refuses: it takes a zero point within u8, given ");
    expect_note("--peer=onednn_reorder 3x0", "    onednn_reorder was not asked: the tensors have no elements\n");
}

TEST_F(dqbench, what_the_api_refuses_is_exit_status_1) {
    for (const auto &[arguments, reason] : {
                 std::pair {"--dtag=any 8x64",
                         "--dtag: expected a layout with strides, as --api=direct needs, given any; it runs with "
                         "--dtag=abx"},
                 {"--scales=absmax --dt=f32:f32:undef:u8 8", "computed.range: expected minmax for u8, given absmax"}}) {
        const auto [status, out, err] = run(std::string("--api=direct ") + arguments);
        EXPECT_EQ(status, 1);
        EXPECT_TRUE(contains(out, std::string("INVALID_ARGUMENTS (") + reason + ')'));
    }
}

TEST_F(dqbench, refusal_of_the_peer_is_told_and_is_no_failure) {
    const std::string negative_axis = "--peer=onednn_graph --qtype=per_channel --axis=-1 --fix-times-per-prb=2 8x64";
    const auto measured = succeed("--mode=P '--perf-template=%peertime%,%ratio%' " + negative_axis);
    EXPECT_TRUE(contains(measured, "    onednn_graph refuses: "));
    EXPECT_TRUE(contains(measured, "\nrefused,\n"));
    const auto checked = succeed(negative_axis);
    EXPECT_TRUE(contains(checked, "\n    dynquant: 0 of 512 results differ\n    onednn_graph refuses: "));
    EXPECT_FALSE(contains(checked, "PASSED"));
}

TEST_F(dqbench, correctness_mode_tells_how_often_the_peer_differs) {
    // Multiplying by 1 / scale rounds some ties and their neighbours otherwise.
    const auto out = succeed("--peer=onednn_graph --dt=f32:f32:s8:u8 65536");
    const std::string compared = "0:COMPARED [^\n]*\n    dynquant: 0 of 65536 results differ\n";
    const auto counts = matches(out, compared + "    onednn_graph: ([0-9]+) of 65536 results differ \\(");
    const auto shares = matches(out, "    onednn_graph: [0-9]+ of 65536 results differ \\(([0-9.]+) %\\)\n");
    ASSERT_EQ(counts.size(), 1U) << out;
    ASSERT_EQ(shares.size(), 1U) << out;
    EXPECT_NEAR(std::stod(shares[0]), std::stod(counts[0]) / 655.36, 0.005 * std::stod(shares[0]));
    EXPECT_FALSE(contains(out, "PASSED"));
    EXPECT_TRUE(contains(out, "\ntests:1 passed:1 "));

    // Hardly any of normal data.
    const auto normal = succeed("--peer=onednn_graph --data=normal --dt=f32:f32:s8:u8 65536");
    const auto of_normal = matches(normal, "    onednn_graph: ([0-9]+) of 65536 results differ");
    ASSERT_EQ(of_normal.size(), 1U) << normal;
    EXPECT_LT(100 * std::stol(of_normal[0]), std::stol(counts[0])) << normal;
    EXPECT_TRUE(contains(
            normal, "__REPRO: --peer=onednn_graph --op=DynamicQuantize --dt=f32:f32:s8:u8 --data=normal 65536\n"));
}

TEST_F(dqbench, inputs_folder_can_be_named) {
    fs::create_directories(folder / "mine");
    std::ofstream(folder / "mine/shapes") << "3x4";
    EXPECT_TRUE(contains(succeed("--batch=shapes", "DQBENCH_INPUTS=mine"), "tests:1 passed:1"));
}

/// A graph with a quantization op, another op, and a quantization op of a type that no kernel has.
constexpr const char *graph_json = R"({"fpmath_mode": "strict", "graph": [
    {"id": 1, "name": "q", "kind": "Quantize",
     "attrs": {"scales": {"type": "f32[]", "value": [0.5]}, "zps": {"type": "s64[]", "value": [3]}},
     "inputs": [{"id": 10, "dtype": "f32", "shape": [2, 300], "stride": [300, 1], "layout_type": "strided"}],
     "outputs": [{"id": 11, "dtype": "u8", "shape": [2, 300], "stride": [300, 1], "layout_type": "strided"}]},
    {"id": 2, "name": "r", "kind": "ReLU", "attrs": {},
     "inputs": [{"id": 11, "dtype": "u8", "shape": [2, 300]}], "outputs": []},
    {"id": 3, "name": "d\n", "kind": "Dequantize", "attrs": {"scales": {"type": "f32[]", "value": [1]}},
     "inputs": [{"id": 20, "dtype": "boolean", "shape": [7]}], "outputs": [{"id": 21, "dtype": "f32", "shape": [7]}]}
]})";

TEST_F(dqbench, graph_in_json_runs_its_ops) {
    std::ofstream(folder / "g.json") << graph_json;
    const auto file = (folder / "g.json").string();
    const auto out = succeed("--threads=1,2 --in-shapes=,10:4x80*ba --case=g.json");
    EXPECT_EQ(out.find(file + ": not of this family: ReLU\n0:PASSED ("), 0u) << out;
    EXPECT_TRUE(contains(out, "tests:6 passed:4 skipped:2"));
    EXPECT_TRUE(contains(
            out, "2:SKIPPED (not supported: op 3 'd\\x0a' (Dequantize): data type boolean) __REPRO: --case=" + file));
    for (const auto &repro : matches(out, "PASSED.*__REPRO: (.*)\n"))
        EXPECT_EQ(matches(succeed(repro), "__REPRO: (.*)\n"), std::vector<std::string> {repro});
}

TEST_F(dqbench, graph_in_json_may_have_masks) {
    /// Writes a graph of one DynamicQuantize of 2x3x4 with these attributes and dims of scales.
    const auto write = [&](const std::string &attributes, const std::string &scales) {
        std::ofstream(folder / "m.json") << R"({"graph": [{"id": 1, "name": "q", "kind": "DynamicQuantize", "attrs": {)"
                                         << attributes
                                         << R"(}, "inputs": [{"id": 10, "dtype": "f32", "shape": [2, 3, 4]},)"
                                         << R"({"id": 11, "dtype": "f32", "shape": )" << scales
                                         << R"(}], "outputs": [{"id": 12, "dtype": "s8", "shape": [2, 3, 4]}]}]})";
    };
    const auto mask = [](int value) { return R"("mask": {"type": "s64", "value": )" + std::to_string(value) + "}"; };
    const std::string two = R"(, "group_shape": {"type": "s64[]", "value": [1, 2]})";
    // The verbose line has the mask of the statement that ran.
    for (const auto &[attributes, scales, ran] : {std::tuple {mask(0), "[]", "attr-scales:0:f32"},
                 {mask(5), "[2, 4]", "attr-scales:5:f32"}, {mask(6) + two, "[3, 2]", "attr-scales:6:f32"}}) {
        write(attributes, scales);
        const auto out = succeed("--threads=1 --case=m.json", "DYNQUANT_VERBOSE=1");
        EXPECT_TRUE(contains(out, "tests:1 passed:1"));
        EXPECT_TRUE(contains(out, ran));
    }
    for (const auto &[attributes, scales, message] :
            {std::tuple {mask(5), "[2, 3]", "scales: expected dims 2x4, given 2x3"},
                    {mask(8), "[1]", "mask: expected a value from 0 to 7, given 8"},
                    {mask(5) + two, "[2, 2]", "mask: expected bit 1 to be set for group_shape, given 5"},
                    {mask(5) + R"(, "qtype": {"type": "string", "value": "per_channel"})", "[2, 4]",
                            "qtype: expected per_tensor or none beside mask, given per_channel"},
                    {R"("mask": {"type": "s64[]", "value": [5]})", "[2, 4]",
                            "/graph/0/attrs/mask/type: expected \"s64\", the type of mask"},
                    {mask(5) + R"(, "group_shape": {"type": "s64[]", "value": [2]})", "[2, 4]",
                            "group_shape: expected 3 extents, as many as src has dims, given 2"}}) {
        write(attributes, scales);
        expect_refused("--case=m.json", message);
    }
}

TEST_F(dqbench, scales_that_are_no_numbers_are_refused) {
    expect_refused("--scales=1xx2 8", "--scales: expected a number");
    expect_refused("--scales=absmx 8", "--scales: expected numbers, as in 0.5x0.25, or absmax, ");
}

TEST_F(dqbench, wrong_json_in_a_batch_is_one_line_with_both_places) {
    std::ofstream(folder / "place.json") << R"({"graph": [{"id": 1, "kind": "Quan\ntize"}]})";
    std::ofstream(folder / "batch") << "8x64\n--case=place.json\n";
    expect_refused(
            "--batch=batch", "batch:2: " + (folder / "place.json").string() + ": /graph/0/kind: expected a word");
}

TEST_F(dqbench, flat_loop_runs_on_every_block_of_computed_scales) {
    const auto out =
            succeed("--mode=P --fix-times-per-prb=1 --peer=flat --isa=scalar,avx2,avx512 --threads=1,3 "
                    "--api=direct --scales=absmax --dt=f32:f32:undef:s8,bf16:f32:undef:s4,f32:f32:undef:f6_e2m3 "
                    "--qtype=per_tensor,per_channel --axis=0,-1 3x17x5 70x1000 "
                    "--qtype=per_group --group=32,33x1 70x1000");
    EXPECT_TRUE(contains(out, " unimplemented:0 invalid_arguments:0 failed:0 "));
    EXPECT_FALSE(contains(out, "refuses"));
}

/// Every file of benchdnn_inputs parses and has cases.
TEST_F(dqbench, all_input_files_are_understood) {
    std::size_t files = 0;
    for (const auto &entry : fs::directory_iterator(INPUTS)) {
        if (entry.is_directory()) continue; // graphs
        const auto out = succeed("--mode=L --batch='" + entry.path().string() + "' 3x5");
        EXPECT_FALSE(contains(out, "tests:0")) << entry.path();
        ++files;
    }
    EXPECT_GT(files, 20u);
}

// ---- dqbench layers ----------------------------------------------------------------------------------------

TEST_F(dqbench, layers_are_exact_and_beside_onednn) {
    // Odd extents, and a bias, scales and a Quantize for each.
    const auto out = succeed("layers --threads=1,2 --weights=constant,variable --case=layers/linear_by_row.json "
                             "--in-shapes=0:5x67+4:67x33+6:33,0:1x768");
    EXPECT_EQ(matches(out, "(PASSED \\(a layer of 5 ops, [a-z0-9]+, bit for bit\\))").size(), 8U) << out;
    EXPECT_EQ(matches(out, "(    onednn: 0 of [0-9]+ results beyond the bound of f32, )").size(), 8U) << out;
    EXPECT_TRUE(contains(out, "tests:8 passed:8 compared:0 skipped:0 mistrusted:0 failed:0"));
    for (const auto &repro : matches(out, "PASSED.*__REPRO: (.*)\n"))
        EXPECT_EQ(matches(succeed(repro), "__REPRO: (.*)\n"), std::vector<std::string> {repro});
}

TEST_F(dqbench, layers_add_a_tensor) {
    const auto out =
            succeed("layers --case=layers/residual.json --in-shapes=0:5x67+4:67x33+6:33+9:5x33,0:1x768+9:1x768");
    EXPECT_EQ(matches(out, "(PASSED \\(a layer of 5 ops, [a-z0-9]+, bit for bit\\))").size(), 2U) << out;
    EXPECT_EQ(matches(out, "(    onednn: 0 of [0-9]+ results beyond the bound of f32, )").size(), 2U) << out;
}

TEST_F(dqbench, layers_tell_wrong_results_of_onednn) {
    // oneDNN takes the first of four zero points of w for all columns, so that most results of three in four are wrong.
    const auto out = succeed("layers --case=layers/static_zps.json --in-shapes=0:16x64+2:64x40");
    EXPECT_TRUE(contains(out, "0:PASSED (a layer of 4 ops, "));
    const auto wrong = matches(out, "onednn: ([0-9]+) of 640 results beyond the bound");
    ASSERT_EQ(wrong.size(), 1U) << out;
    EXPECT_GT(std::stoi(wrong[0]), 240) << out;
}

TEST_F(dqbench, layers_are_measured_beside_onednn_and_its_fusion) {
    const auto out = succeed(
            "layers --mode=CP --max-ms-per-prb=20 --rotate-mib=1 --amplitude=60 --case=layers/dynamic_matmul.json "
            "--in-shapes=0:4x256+4:256x512");
    EXPECT_TRUE(contains(out, "0:PASSED (a layer of 3 ops, "));
    const std::string number = "[0-9.e-]+", three = "," + number + "," + number + "," + number;
    EXPECT_EQ(matches(out,
                      "(perf,dynamic_matmul.json,4x256\\*256x512,as given,1,0,layer," + number + "," + number + three
                              + three + "\n)")
                      .size(),
            1U)
            << out;
}

TEST_F(dqbench, layers_have_a_table_of_times) {
    const auto out = succeed("layers --table --threads=1 --max-ms-per-prb=1");
    for (const std::string extents :
            {"128x768*768x768", "128x768*768x3072", "1024x1024*1024x1024", "1x768*768x768", "1x4096*4096x4096"})
        for (const std::string weights : {"constant", "variable"})
            EXPECT_TRUE(contains(out, "perf,dynamic_matmul.json," + extents + "," + weights + ",0,1,layer,")) << out;
}

TEST_F(dqbench, layers_of_convolutions_are_exact) {
    for (const std::string file :
            {"nxc.json --in-shapes=0:2x9x7x6+4:3x3x6x5", "ncx_2.json --in-shapes=0:2x6x9x7+4:5x6x3x2"}) {
        const auto out = succeed("layers --case=layers/dynamic_convolution_" + file);
        EXPECT_TRUE(contains(out, "0:PASSED (a layer of 3 ops, ")) << out;
        EXPECT_TRUE(contains(out, "    onednn: 0 of ")) << out;
    }
    const auto table = succeed("layers --table=convolutions --max-ms-per-prb=1");
    EXPECT_TRUE(contains(table, "perf,dynamic_convolution_nxc_2.json,1x224x224x3*7x7x3x64,as given,0,1,layer,"))
            << table;
    EXPECT_TRUE(contains(table, "tests:26 passed:26 ")) << table;
    const auto odd = succeed("layers --case=layers/dynamic_convolution_nxc.json --in-shapes=0:2x9x7x6+4:3x3x5x5");
    EXPECT_TRUE(contains(odd,
            "0:SKIPPED (not supported: op 2 'convolution' (Convolution): expected attributes and weights that fit src "
            "of "
            "2x9x7x6, given weights of 3x3x5x5)"))
            << odd;
}

TEST_F(dqbench, layers_of_narrow_weights_are_within_their_bound) {
    for (const std::string file : {".json --in-shapes=0:5x33+1:33x17", "_u4.json --in-shapes=0:5x256+1:256x33",
                 "_u4_columns.json --in-shapes=0:3x70+1:70x256"}) {
        const auto out = succeed("layers --weights=constant,variable --case=layers/narrow_weights" + file);
        for (const std::string number : {"0", "1"})
            EXPECT_TRUE(contains(out, number + ":PASSED (a layer of 2 ops, ")) << out;
        EXPECT_TRUE(contains(out, ", within the bound of f32)")) << out;
    }
    EXPECT_TRUE(contains(
            succeed("layers --mode=P --max-ms-per-prb=1 --case=layers/narrow_weights.json --in-shapes=0:1x64+1:64x64"),
            "perf,narrow_weights.json,1x64*64x64,as given,0,0,layer,"));
}

TEST_F(dqbench, layers_skip_what_is_no_chain) {
    const auto write = [&](const std::string &ops) {
        std::ofstream(folder / "l.json") << R"({"graph": [)" << ops << "]}";
    };
    const auto tensor = [](int id, const std::string &type) {
        return R"({"id": )" + std::to_string(id) + R"(, "dtype": ")" + type + R"(", "shape": [4, 4]})";
    };
    const auto op = [&](int id, const std::string &kind, const std::string &attributes, const std::string &inputs,
                            const std::string &output) {
        return R"({"id": )" + std::to_string(id) + R"(, "name": "o", "kind": ")" + kind + R"(", "attrs": {)"
                + attributes + R"(}, "inputs": [)" + inputs + R"(], "outputs": [)" + output + "]}";
    };
    const std::string scales = R"("scales": {"type": "f32[]", "value": [1]}, "zps": {"type": "s64[]", "value": [0]})";
    const std::string rows =
            R"(, "qtype": {"type": "string", "value": "per_channel"}, "axis": {"type": "s64", "value": 0})";
    const auto x = op(0, "Dequantize", scales, tensor(0, "s8"), tensor(1, "f32"));
    const auto w = op(1, "Dequantize", scales, tensor(2, "s8"), tensor(3, "f32"));
    const auto product = op(2, "MatMul", "", tensor(1, "f32") + ", " + tensor(3, "f32"), tensor(4, "f32"));
    for (const auto &[ops, message] : {std::pair {x, std::string("there is no MatMul and no Convolution")},
                 {x + ", " + product, "op 2 'o' (MatMul): weights is not the result of Dequantize"},
                 {x + ", " + w + ", " + product + ", " + op(3, "Sigmoid", "", tensor(4, "f32"), tensor(5, "f32")),
                         "op 3 'o' (Sigmoid): dqbench has no oracle of it"},
                 {x + ", " + op(1, "Dequantize", scales + rows, tensor(2, "s8"), tensor(3, "f32")) + ", " + product,
                         "op 1 'o' (Dequantize): scales differ along a dim that MatMul sums"},
                 {x + ", " + op(1, "Dequantize", scales, tensor(2, "u4"), tensor(3, "f32")) + ", " + product,
                         "op 1 'o' (Dequantize): 4 bits, beside integers"},
                 {x + ", " + op(1, "Dequantize", scales, tensor(2, "f8_e4m3"), tensor(3, "f32")) + ", " + product,
                         "op 1 'o' (Dequantize): tensor 2 of f8_e4m3"},
                 {x + ", " + w + ", " + product + ", " + op(3, "Clamp", "", tensor(4, "f32"), tensor(5, "f32")),
                         "op 3 'o' (Clamp): expected the attribute min of f32"}}) {
        write(ops);
        const auto out = succeed("layers --case=l.json");
        EXPECT_TRUE(contains(out, "0:SKIPPED (not supported: " + message + ")")) << out;
        EXPECT_TRUE(contains(out, "tests:1 passed:0 compared:0 skipped:1 mistrusted:0 failed:0"));
    }
    write(x + ", " + w + ", " + product);
    EXPECT_TRUE(contains(succeed("layers --case=l.json --in-shapes=0:0x4"),
            "op 0 'o' (Dequantize): expected dims from 1 on, given 0x4"));
    EXPECT_TRUE(contains(succeed("layers --case=l.json --op-attrs=0:qtype:per_channel*axis:2"),
            "0:SKIPPED (not supported: expected an integer from -2 to 1, given '2')"));
    EXPECT_TRUE(contains(succeed("layers --case=l.json --in-shapes=0:4x5"),
            "op 2 'o' (MatMul): expected as many columns of src as rows of weights, given 5 and 4"));
}

TEST_F(dqbench, layers_refuse_wrong_arguments) {
    expect_refused("layers", "layers: expected --case=FILE or --table, given neither");
    expect_refused("layers --table=sums", "layers: --table: expected products, weights or convolutions, given 'sums'");
    expect_refused("layers --table --case=l.json", "layers: --case excludes --table");
    expect_refused("layers --case=none.json", "layers: --case: there is no file 'none.json', nor ");
    expect_refused("layers --case=layers/static_zps.json --mode=X", "layers: --mode: expected C, P or CP, given 'X'");
    expect_refused("layers --case=layers/static_zps.json --weights=fixed",
            "layers: --weights: expected constant or variable, given 'fixed'");
    expect_refused("layers --case=layers/static_zps.json --threads=-1",
            "layers: --threads: expected a number from 0 on, given -1");
    expect_refused(
            "layers --case=layers/static_zps.json --in-shapes=9:4x4", ": --in-shapes: there is no input or output 9");
    expect_refused(
            "layers --case=layers/static_zps.json --amplitude=0", "layers: --amplitude: expected 1 to 255, given 0");
    expect_refused("layers --case=layers/static_zps.json --rotate-mib=-1",
            "layers: --rotate-mib: expected 0 to 65536, given -1");
}

// ---- dqbench verify ----------------------------------------------------------------------------------------

TEST_F(dqbench, verify_is_equal_to_the_table_and_counts_what_it_computed) {
    const std::string two_groups = "verify '--only=^strict\\.quantize/f32->.8$|^computed.ggml_q8_0/f16->s4$'";
    const auto line = [](const std::string &group, const std::string &cells) {
        return group + " +" + cells + " +[0-9]+ statements +[0-9,]+ results +equal, [0-9.]+ s\n";
    };
    const std::string groups = line("strict.quantize", "2 cells") + line("computed.ggml_q8_0", "1 cell");
    EXPECT_TRUE(std::regex_match(succeed(two_groups),
            std::regex(groups
                    + "equal: [0-9,]+ results, 2 groups, 3 cells; reference, scalar.*; up to 4 threads; [0-9.]+ "
                      "s\n")));
    EXPECT_TRUE(std::regex_match(succeed(two_groups, "DYNQUANT_MAX_ISA=scalar"),
            std::regex(
                    groups + "equal: [0-9,]+ results, 2 groups, 3 cells; reference, scalar; up to 4 threads; .* s\n")));
}

TEST_F(dqbench, verify_lists_cells_statements_and_digests) {
    const std::string only = " '--only=^strict\\.quantize/f32->.8$'";
    const auto cells = succeed("verify --list" + only);
    EXPECT_TRUE(std::regex_match(cells,
            std::regex("strict.quantize/f32->s8 +108 statements, [0-9,]+ results, [0-9a-f]{16}\n"
                       "strict.quantize/f32->u8 +108 statements, [0-9,]+ results, [0-9a-f]{16}\n")))
            << cells;
    // The digest that the reference computes is the listed one.
    const auto table = succeed("verify --print-table" + only);
    EXPECT_EQ(matches(table, "\"strict.quantize/\\S+ ([0-9a-f]{16}) [0-9a-f]{216}\",\n"),
            matches(cells, ", ([0-9a-f]{16})\n"));
    // A statement's line is a command of dqbench.
    const auto statements =
            matches(succeed("verify --list-statements" + only), "strict.quantize/f32->[su]8 dqbench (.*)\n");
    ASSERT_EQ(statements.size(), 216u);
    for (const auto i : {0u, 101u, 215u})
        EXPECT_EQ(matches(succeed(statements[i]), "__REPRO: (.*)\n"), std::vector<std::string> {statements[i]});
}

/// The first way is compared with the table. A statement of 2^15 results and more has ways of more threads.
TEST_F(dqbench, verify_computes_by_the_ways_that_are_named) {
    const auto verify = [&](const std::string &ways) {
        const auto out = succeed("verify '--only=^computed.ggml_q8_0/f16->s4$' '--ways=" + ways + "'");
        return matches(out, "\nequal: [0-9,]+ results, 1 group, 1 cell; (.*); [0-9.]+ s\n");
    };
    const auto is = [](const std::string &one) { return std::vector<std::string> {one}; };
    EXPECT_EQ(verify("^scalar$"), is("scalar; 1 thread"));
    EXPECT_EQ(verify("scalar$|reference"), is("reference, scalar; 1 thread"));
    EXPECT_EQ(verify("^reference$| by 3 threads"),
            is("reference, " + matches(verify(" 3 ").at(0), "(.*);").at(0) + "; up to 3 threads"));
}

/// --long keeps the cells that are equal in a file, and computes only the others when it is started again.
TEST_F(dqbench, verify_long_resumes_from_its_state) {
    const std::string cell = "long.computed.ggml_q8_0/f16->s4", only = "verify --long '--only=^" + cell + "$' ";
    const bool in_table = succeed(only + "--list").find("not in the table") == std::string::npos;
    const auto [status, out, err] = run(only);
    EXPECT_EQ(err, "");
    EXPECT_EQ(status, in_table ? 0 : 1) << out;
    EXPECT_TRUE(
            contains(out, in_table ? "\nequal: " : cell + ": the table has no such cell, as in 768 of 768 statements"));
    const auto state = folder / "dqbench-verify.state"; // the default
    const auto title =
            matches(contents(state), "^(dqbench verify --long of build [0-9a-f]{16}, reference, scalar.*)\n");
    ASSERT_EQ(title.size(), 1u) << contents(state);
    const auto equal = title[0] + "\n" + cell + "\n";
    EXPECT_EQ(contents(state) == equal, in_table) << contents(state);

    std::ofstream(folder / "done") << equal;
    const auto resumed = succeed(only + "--state=done");
    EXPECT_EQ(resumed.find("equal before: 1 cell, done\n"), 0u) << resumed;
    EXPECT_TRUE(contains(resumed, "\nequal: 0 results, 1 group, 1 cell; "));
    EXPECT_EQ(contents(folder / "done"), equal);
}

} // namespace

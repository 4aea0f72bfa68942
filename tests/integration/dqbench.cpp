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

TEST_F(dqbench, repro_pasted_into_a_shell_gives_the_same_line) {
    const auto repros = matches(succeed("--mode=L --op=Quantize,Dequantize --qtype=per_channel --axis=-1 --params=wild "
                                        "--threads=0,3 --dtag=any,strides:40x2 3x20n\\\"a*b\\\""),
            "__REPRO: (.*)\n");
    ASSERT_EQ(repros.size(), 8u);
    for (const auto &repro : repros)
        EXPECT_EQ(matches(succeed(repro), "__REPRO: (.*)\n"), std::vector<std::string> {repro});
}

TEST_F(dqbench, mode_l_runs_nothing) {
    const auto out = succeed("--mode=L 1000000x1000000x1000");
    EXPECT_NE(out.find("0:LISTED __REPRO: --mode=L"), std::string::npos) << out;
    EXPECT_NE(out.find("listed:1"), std::string::npos) << out;
}

TEST_F(dqbench, mode_r_executes) {
    const auto out = succeed("--mode=R 8x64");
    EXPECT_NE(out.find("0:EXECUTED ("), std::string::npos) << out;
    EXPECT_NE(out.find("tests:1 passed:1"), std::string::npos) << out;
}

TEST_F(dqbench, tells_the_kernel_and_instruction_set_that_ran) {
    EXPECT_NE(succeed("--isa=scalar 8x64").find("PASSED (native:scalar)"), std::string::npos);
    EXPECT_NE(succeed("--kernel=reference 8x64").find("PASSED (reference:scalar)"), std::string::npos);
    EXPECT_NE(succeed("--kernel=onednn --op=Quantize --params=pow2 --dt=f32:f32:undef:u8 8x64").find("PASSED (onednn:"),
            std::string::npos);
}

TEST_F(dqbench, environment_holds_where_the_case_says_auto) {
    EXPECT_NE(succeed("8x64", "DYNQUANT_KERNEL=reference").find("(reference:scalar)"), std::string::npos);
    EXPECT_NE(succeed("--kernel=native --isa=scalar 8x64", "DYNQUANT_KERNEL=reference DYNQUANT_MAX_ISA=avx2")
                      .find("(native:scalar)"),
            std::string::npos);
}

TEST_F(dqbench, statement_that_onednn_cannot_compute_is_skipped_with_the_reason) {
    const auto out = succeed("--kernel=onednn --qtype=per_channel --dt=f32:f32:s8:u8 8x64");
    EXPECT_NE(out.find("0:SKIPPED (kernel refuses: "), std::string::npos) << out;
    EXPECT_NE(out.find("the zero points differ by channel"), std::string::npos) << out;
    EXPECT_NE(out.find("passed:0 skipped:1"), std::string::npos) << out;
}

TEST_F(dqbench, results_that_tell_nothing_are_mistrusted) {
    const auto out = succeed("--stag=strides:0x0 9x100"); // one value, which saturates
    EXPECT_NE(out.find("0:MISTRUSTED ("), std::string::npos) << out;
    EXPECT_NE(out.find("only 0 of 900 results tell anything"), std::string::npos) << out;
    EXPECT_NE(out.find("passed:0 skipped:0 mistrusted:1"), std::string::npos) << out;
}

TEST_F(dqbench, tensor_larger_than_memory_is_skipped) {
    const auto out = succeed("1000000x1000000x1000");
    EXPECT_NE(out.find("0:SKIPPED (not enough memory)"), std::string::npos) << out;
}

TEST_F(dqbench, help_names_every_option) {
    const auto out = succeed("--help");
    for (const auto *option :
            {"mode", "op", "dt", "qtype", "axis", "stag", "dtag", "fpmath-mode", "kernel", "isa", "threads", "peer",
                    "api", "cache", "offset", "params", "perf-template", "fix-times-per-prb", "max-ms-per-prb", "data",
                    "batch", "match", "reset", "help", "case", "in-shapes", "op-attrs", "scales", "zps"})
        EXPECT_NE(out.find(std::string("  --") + option), std::string::npos) << option;
}

TEST_F(dqbench, performance_line_has_kernel_times_and_rates) {
    const auto out = succeed("--mode=P --fix-times-per-prb=3 1000");
    const std::regex expected(
            "Output template: perf,%kernel%.*\n"
            "perf,kernel,isa,name,prb,min_time,median_time,min_Gelems,min_Gbw,min_peertime,min_ratio\n"
            "perf,[a-z]+,[a-z0-9:_]+,,--mode=P --fix-times-per-prb=3 --op=DynamicQuantize "
            "--dt=f32:f32:undef:s8 1000,[0-9.e-]+,[0-9.e-]+,[0-9.e-]+,[0-9.e-]+,,\n"
            "tests:1 passed:1 [^\n]*\n"
            "total perf: min\\(ms\\):[0-9.e-]+ avg\\(ms\\):[0-9.e-]+\n"
            "total: [^\n]*\n");
    EXPECT_TRUE(std::regex_match(out, expected)) << out;
}

TEST_F(dqbench, peer_is_measured_in_the_same_run) {
    const auto out = succeed("--mode=F --peer=onednn_graph '--perf-template=[%peertime%/%time%=%ratio%]' 1000");
    EXPECT_EQ(matches(out, "(\\[[0-9.e-]+/[0-9.e-]+=[0-9.e-]+\\])\n").size(), 1u) << out;
}

TEST_F(dqbench, several_peers_are_measured_in_the_same_run) {
    const auto out = succeed("--mode=F --threads=1 --peer=flat,onednn_graph,onednn_reorder "
                             "'--perf-template=[%peer%: %flat% %ratio% %ratio:flat%]' --dt=f32:f32:u8:u8 4096");
    EXPECT_EQ(
            matches(out, "(\\[flat/onednn_graph/onednn_reorder: [0-9.e-]+ [0-9.e-]+/[0-9.e-]+ [0-9.e-]+\\])\n").size(),
            1u)
            << out;
}

TEST_F(dqbench, xnnpack_is_measured_or_absent) {
    for (const auto *types : {"--dt=f32:f32:u8:u8", "--dt=f32:f32:undef:s8",
                 "--op=DynamicDequantize --dt=u8:f32:u8:f32", "--op=DynamicDequantize --dt=s8:f32:undef:f32"})
        for (const auto *threads : {" --threads=1", " --threads=3"}) {
            const auto out = succeed("--mode=F --peer=xnnpack '--perf-template=<%ratio:xnnpack%>' " + std::string(types)
                    + threads + " 4096");
            EXPECT_EQ(matches(out, "\n<([0-9.e-]+|absent)>\n").size(), 1u) << out;
            if (out.find("<absent>") == std::string::npos) continue;
            EXPECT_NE(out.find("    xnnpack is absent: this dqbench was built without XNNPACK; install"),
                    std::string::npos)
                    << out;
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

TEST_F(dqbench, flat_loop_is_never_checked) {
    EXPECT_NE(
            succeed("--peer=flat 1000").find("    flat computes nothing that could be compared\n"), std::string::npos);
}

TEST_F(dqbench, direct_api_gives_the_same) {
    EXPECT_NE(succeed("--api=direct --op=Quantize,DynamicQuantize --qtype=per_tensor,per_channel --dt=f32:f32:s32:u8 "
                      "--threads=0,2 64x65")
                      .find("tests:8 passed:8"),
            std::string::npos);
    const auto [status, out, err] = run("--api=direct --dtag=any 8x64");
    EXPECT_EQ(status, 1);
    EXPECT_NE(out.find("INVALID_ARGUMENTS (--dtag: expected a layout with strides, as --api=direct needs, given any)"),
            std::string::npos)
            << out;
}

TEST_F(dqbench, cold_caches_and_offsets_are_measured) {
    const auto out =
            succeed("--mode=F --cache=warm,cold --offset=0,3 --peer=flat --perf-template=%cache%%offset%:%flat% "
                    "100000");
    EXPECT_EQ(matches(out, "\n((?:warm|cold)[03]:[0-9.e+]+)").size(), 4u) << out;
    EXPECT_NE(succeed("--offset=0,7 1000").find("tests:2 passed:2"), std::string::npos);
}

TEST_F(dqbench, refusal_of_the_peer_is_told_and_is_no_failure) {
    const std::string negative_axis = "--peer=onednn_graph --qtype=per_channel --axis=-1 --fix-times-per-prb=2 8x64";
    const auto measured = succeed("--mode=P '--perf-template=%peertime%,%ratio%' " + negative_axis);
    EXPECT_NE(measured.find("    onednn_graph refuses: "), std::string::npos) << measured;
    EXPECT_NE(measured.find("\nrefused,\n"), std::string::npos) << measured;
    const auto checked = succeed(negative_axis);
    EXPECT_NE(checked.find("\n    dynquant: 0 of 512 results differ\n    onednn_graph refuses: "), std::string::npos)
            << checked;
    EXPECT_EQ(checked.find("PASSED"), std::string::npos) << checked;
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
    EXPECT_EQ(out.find("PASSED"), std::string::npos) << out;
    EXPECT_NE(out.find("\ntests:1 passed:1 "), std::string::npos) << out;

    // Hardly any of normal data.
    const auto normal = succeed("--peer=onednn_graph --data=normal --dt=f32:f32:s8:u8 65536");
    const auto of_normal = matches(normal, "    onednn_graph: ([0-9]+) of 65536 results differ");
    ASSERT_EQ(of_normal.size(), 1U) << normal;
    EXPECT_LT(100 * std::stol(of_normal[0]), std::stol(counts[0])) << normal;
    EXPECT_NE(normal.find("__REPRO: --peer=onednn_graph --op=DynamicQuantize --dt=f32:f32:s8:u8 --data=normal 65536\n"),
            std::string::npos)
            << normal;
}

TEST_F(dqbench, mode_cp_checks_and_measures) {
    const auto out = succeed("--mode=CP --fix-times-per-prb=2 --perf-template=t:%time% 1000");
    EXPECT_NE(out.find("0:PASSED"), std::string::npos) << out;
    EXPECT_EQ(matches(out, "\nt:([0-9.e-]+)\n").size(), 1u) << out;
}

TEST_F(dqbench, inputs_folder_can_be_named) {
    fs::create_directories(folder / "mine");
    std::ofstream(folder / "mine/shapes") << "3x4";
    EXPECT_NE(succeed("--batch=shapes", "DQBENCH_INPUTS=mine").find("tests:1 passed:1"), std::string::npos);
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
    EXPECT_NE(out.find("tests:6 passed:4 skipped:2"), std::string::npos) << out;
    EXPECT_NE(out.find("2:SKIPPED (not supported: op 3 'd\\x0a' (Dequantize): data type boolean) __REPRO: --case="
                      + file),
            std::string::npos)
            << out;
    for (const auto &repro : matches(out, "PASSED.*__REPRO: (.*)\n"))
        EXPECT_EQ(matches(succeed(repro), "__REPRO: (.*)\n"), std::vector<std::string> {repro});
}

/// A graph of one DynamicQuantize of 2x3x4 with these attributes and dims of scales.
std::string masked_graph(const std::string &attributes, const std::string &scales) {
    return R"({"graph": [{"id": 1, "name": "q", "kind": "DynamicQuantize", "attrs": {)" + attributes
            + R"(}, "inputs": [{"id": 10, "dtype": "f32", "shape": [2, 3, 4]}, {"id": 11, "dtype": "f32", "shape": )"
            + scales + R"(}], "outputs": [{"id": 12, "dtype": "s8", "shape": [2, 3, 4]}]}]})";
}

TEST_F(dqbench, graph_in_json_may_have_masks) {
    const auto write = [&](const std::string &attributes, const std::string &scales) {
        std::ofstream(folder / "m.json") << masked_graph(attributes, scales);
    };
    const std::string mask_5 = R"("mask": {"type": "s64", "value": 5})",
                      mask_6 = R"("mask": {"type": "s64", "value": 6})";
    const std::string two = R"(, "group_shape": {"type": "s64[]", "value": [1, 2]})";
    // The verbose line has the mask of the statement that ran.
    for (const auto &[attributes, scales, ran] :
            {std::tuple {std::string(R"("mask": {"type": "s64", "value": 0})"), "[]", "attr-scales:0:f32"},
                    {mask_5, "[2, 4]", "attr-scales:5:f32"}, {mask_6 + two, "[3, 2]", "attr-scales:6:f32"}}) {
        write(attributes, scales);
        const auto out = succeed("--threads=1 --case=m.json", "DYNQUANT_VERBOSE=1");
        EXPECT_NE(out.find("tests:1 passed:1"), std::string::npos) << out;
        EXPECT_NE(out.find(ran), std::string::npos) << out;
    }
    write(mask_5, "[2, 3]");
    expect_refused("--case=m.json", "scales: expected dims 2x4, given 2x3");
    write(R"("mask": {"type": "s64", "value": 8})", "[1]");
    expect_refused("--case=m.json", "mask: expected a value from 0 to 7, given 8");
    write(mask_5 + two, "[2, 2]");
    expect_refused("--case=m.json", "mask: expected bit 1 to be set for group_shape, given 5");
    write(mask_5 + R"(, "qtype": {"type": "string", "value": "per_channel"})", "[2, 4]");
    expect_refused("--case=m.json", "qtype: expected per_tensor or none beside mask, given per_channel");
    write(R"("mask": {"type": "s64[]", "value": [5]})", "[2, 4]");
    expect_refused("--case=m.json", "/graph/0/attrs/mask/type: expected \"s64\", the type of mask");
    write(mask_5 + R"(, "group_shape": {"type": "s64[]", "value": [2]})", "[2, 4]");
    expect_refused("--case=m.json", "group_shape: expected 3 extents, as many as src has dims, given 2");
}

TEST_F(dqbench, hostile_json_is_one_line_with_file_and_place) {
    std::ofstream(folder / "cut.json") << std::string(graph_json, 100);
    std::ofstream(folder / "place.json") << R"({"graph": [{"id": 1, "kind": "Quan\ntize"}]})";
    std::ofstream(folder / "batch") << "8x64\n--case=place.json\n";
    expect_refused("--case=cut.json", "cut.json: parse error at line 3, column ");
    expect_refused(
            "--batch=batch", "batch:2: " + (folder / "place.json").string() + ": /graph/0/kind: expected a word");
}

TEST_F(dqbench, scales_and_zps_can_be_given) {
    EXPECT_NE(succeed("--op=Quantize,DynamicQuantize --dt=f32:f32:s32:u8 --qtype=per_channel --scales=0.5x0.25x0.1 "
                      "--zps=-3x40 --api=graph,direct 7x65")
                      .find("tests:4 passed:4"),
            std::string::npos);
    expect_refused("--zps=3 8", "--zps: expected a type of zero points in --dt, given f32:f32:undef:s8");
    expect_refused("--dt=f32:f32:u8:u8 --zps=256 8", "--zps: expected values of u8, given 256");
    expect_refused("--scales=1xx2 8", "--scales: expected a number");
}

TEST_F(dqbench, computed_scales_are_checked_and_measured) {
    const std::string tokens = "--api=direct --qtype=per_channel --axis=0 ";
    EXPECT_NE(succeed(tokens
                      + "--scales=absmax,onednn_dynamic_quantize --dt=f32:f32:undef:s8,bf16:f16:undef:s4 8x200 "
                        "--scales=minmax,torchao_asymmetric --dt=f32:f32:u8:u8,f16:bf16:s4:s4 8x200")
                      .find("tests:8 passed:8"),
            std::string::npos);
    EXPECT_NE(succeed("--api=direct --qtype=per_group --scales=mx_floor,mx_ceil,mx_even,mx_rceil "
                      "--dt=f32:f8_e8m0:undef:f8_e4m3,bf16:f8_e8m0:undef:f4_e2m1 8x200 "
                      "--scales=nvfp4 --group=16 --dt=f32:f8_e4m3:undef:f4_e2m1 8x200")
                      .find("tests:9 passed:9"),
            std::string::npos);
    const auto out =
            succeed(tokens + "--mode=F --scales=absmax --peer=flat '--perf-template=[%scales%: %flat%]' 8x200");
    EXPECT_EQ(matches(out, "(\\[absmax: [0-9.e+-]+\\])\n").size(), 1u) << out;
    expect_refused("--scales=absmax 8", "--scales=absmax: expected --api=direct, given --api=graph");
    expect_refused("--api=direct --scales=absmx 8", "--scales: expected numbers, as in 0.5x0.25, or absmax, ");
    const auto [status, refused, err] = run("--api=direct --scales=absmax --dt=f32:f32:undef:u8 8");
    EXPECT_EQ(status, 1);
    EXPECT_NE(
            refused.find("INVALID_ARGUMENTS (computed.range: expected minmax for u8, given absmax)"), std::string::npos)
            << refused;
}

TEST_F(dqbench, flat_loop_runs_on_every_block_of_computed_scales) {
    const auto out =
            succeed("--mode=P --fix-times-per-prb=1 --peer=flat --isa=scalar,avx2,avx512 --threads=1,3 "
                    "--api=direct --scales=absmax --dt=f32:f32:undef:s8,bf16:f32:undef:s4,f32:f32:undef:f6_e2m3 "
                    "--qtype=per_tensor,per_channel --axis=0,-1 3x17x5 70x1000 "
                    "--qtype=per_group --group=32,33x1 70x1000");
    EXPECT_NE(out.find(" unimplemented:0 invalid_arguments:0 failed:0 "), std::string::npos) << out;
    EXPECT_EQ(out.find("refuses"), std::string::npos) << out;
}

/// Every file of benchdnn_inputs parses and has cases.
TEST_F(dqbench, all_input_files_are_understood) {
    std::size_t files = 0;
    for (const auto &entry : fs::directory_iterator(INPUTS)) {
        const auto out = succeed("--mode=L --batch='" + entry.path().string() + "' 3x5");
        EXPECT_EQ(out.find("tests:0"), std::string::npos) << entry.path();
        ++files;
    }
    EXPECT_GT(files, 20u);
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

TEST_F(dqbench, verify_has_help) {
    const auto help = succeed("verify --help");
    for (const auto *option : {"--only", "--ways", "--list", "--list-statements", "--long", "--state", "--print-table"})
        EXPECT_NE(help.find(option), std::string::npos) << option;
    EXPECT_NE(help.find("Exit status: 0 where all is equal; 1 where a digest differs"), std::string::npos);
}

/// --long keeps the cells that are equal in a file, and computes only the others when it is started again.
TEST_F(dqbench, verify_long_resumes_from_its_state) {
    const std::string cell = "long.computed.ggml_q8_0/f16->s4", only = "verify --long '--only=^" + cell + "$' ";
    const bool in_table = succeed(only + "--list").find("not in the table") == std::string::npos;
    const auto [status, out, err] = run(only);
    EXPECT_EQ(err, "");
    EXPECT_EQ(status, in_table ? 0 : 1) << out;
    EXPECT_NE(out.find(in_table ? "\nequal: " : cell + ": the table has no such cell, as in 768 of 768 statements"),
            std::string::npos)
            << out;
    const auto state = folder / "dqbench-verify.state"; // the default
    const auto title =
            matches(contents(state), "^(dqbench verify --long of build [0-9a-f]{16}, reference, scalar.*)\n");
    ASSERT_EQ(title.size(), 1u) << contents(state);
    const auto equal = title[0] + "\n" + cell + "\n";
    EXPECT_EQ(contents(state) == equal, in_table) << contents(state);

    std::ofstream(folder / "done") << equal;
    const auto resumed = succeed(only + "--state=done");
    EXPECT_EQ(resumed.find("equal before: 1 cell, done\n"), 0u) << resumed;
    EXPECT_NE(resumed.find("\nequal: 0 results, 1 group, 1 cell; "), std::string::npos) << resumed;
    EXPECT_EQ(contents(folder / "done"), equal);
}

} // namespace

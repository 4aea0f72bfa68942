// dqbench, run as a program with benchdnn's options, does what benchdnn does.
#include <fstream>

#include "dqbench.hpp"

namespace {

using namespace dynquant::test;

using dqbench_as_benchdnn = dqbench;

TEST_F(dqbench_as_benchdnn, two_runs_give_the_same_bits) {
    const auto out = succeed("--mode=B --threads=1,2 --op=DynamicQuantize,DynamicDequantize --params=wild "
                             "--qtype=per_tensor,per_channel 37x1000 --scales=minmax --dt=f32:f32:u8:u8 "
                             "--op=DynamicQuantize --threads=2 --params=usual --qtype=per_tensor 37x1001");
    EXPECT_TRUE(contains(out, "tests:9 passed:9 "));
    EXPECT_TRUE(contains(out, "__REPRO: --mode=B --threads=1 --op=DynamicQuantize "));
}

TEST_F(dqbench_as_benchdnn, lines_and_lists_that_the_run_prints) {
    const std::string repro = "--op=DynamicQuantize --dt=f32:f32:undef:s8 8x64\n";
    const auto out =
            succeed("-v1 --start=1 --repeats-per-prb=3 --summary=impl+impl-csv --kernel=native --isa=scalar 8x64");
    const std::string run = "run: --kernel=native --isa=scalar " + repro;
    EXPECT_TRUE(contains(out, run + "0:SKIPPED (before --start) __REPRO: --kernel=native --isa=scalar " + repro + run));
    EXPECT_TRUE(contains(out, "implementations:\nnative:scalar            2\nimpl,native:scalar,2\n"));
    EXPECT_TRUE(contains(out, "tests:3 passed:2 skipped:1 "));
    EXPECT_FALSE(contains(succeed("8x64"), "run: "));
    EXPECT_FALSE(contains(succeed("8x64"), "implementations:"));
    const auto failures = run_failing("--qtype=per_channel --axis=7 8x64");
    EXPECT_TRUE(contains(failures, "failures:\n0:INVALID_ARGUMENTS"));
    EXPECT_FALSE(contains(run_failing("--summary=no-failures --qtype=per_channel --axis=7 8x64"), "failures:"));
}

TEST_F(dqbench_as_benchdnn, implementations_are_chosen_by_parts_of_their_names) {
    for (const auto &[arguments, result] : {std::pair {"--impl=ref", "0:PASSED (reference:scalar)"},
                 {"--impl=jit,native", "0:PASSED (native:"}, {"--skip-impl=ref,simple", "0:PASSED (native:"},
                 {"--impl=native:scalar", "0:PASSED (native:scalar)"},
                 {"--skip-impl=avx,neon", "0:PASSED (native:scalar)"}, {"--isa=scalar --impl=native:avx", "0:SKIPPED"},
                 {"--skip-impl=native,onednn", "0:PASSED (reference:scalar)"},
                 {"--impl=jit:brgemm", "0:SKIPPED (--impl leaves none of native:"},
                 {"--kernel=native --skip-impl=native", "0:SKIPPED (--skip-impl leaves none of native:"}})
        EXPECT_TRUE(contains(succeed(std::string(arguments) + " 8x64"), result)) << arguments;
    EXPECT_TRUE(contains(
            succeed("--impl=onednn --op=Quantize --params=pow2 --dt=f32:f32:undef:u8 8x64"), "0:PASSED (onednn:"));
}

TEST_F(dqbench_as_benchdnn, memory_that_is_short_is_a_failure) {
    const auto out = run_failing("1000000x1000000x1000");
    EXPECT_TRUE(contains(out, "0:FAILED (not enough memory: expected buffers of at most "));
    EXPECT_TRUE(contains(out, " GiB, given ones of 1.02e+07 GiB) __REPRO: ")); // 11 bytes for each of 10^15 elements
    EXPECT_TRUE(contains(out, " failed:1 "));
}

TEST_F(dqbench_as_benchdnn, a_refusal_names_the_options_that_help) {
    for (const auto &[arguments, reason] :
            {std::pair {"--dt=f32:f8_e4m3:undef:f4_e2m1", "; it runs with --api=direct --rule=onnx) __REPRO"},
                    {"--dt=f32:f32:undef:f8_e5m2", "; it runs with --api=direct) __REPRO"},
                    {"--qtype=per_channel --axis=7", "expected a value in [-2, 1] for rank 2, given 7) __REPRO"}})
        EXPECT_TRUE(contains(run_failing(std::string(arguments) + " 8x64"), reason)) << arguments;
}

TEST_F(dqbench_as_benchdnn, rules_imply_the_api_and_zero_points_may_be_s64) {
    const auto out = succeed("--scales=nvfp4 --qtype=per_group --group=16 --dt=f32:f8_e4m3:undef:f4_e2m1 8x200 --reset "
                             "--rule=onnx --dt=f32:f32:u16:u16 8x64 --reset --op=Quantize --dt=f32:f32:s64:u8 8x64 "
                             "--op=Dequantize --dt=u8:f32:s64:f32 8x64");
    EXPECT_TRUE(
            contains(out, "__REPRO: --api=direct --op=DynamicQuantize --dt=f32:f8_e4m3:undef:f4_e2m1 --rule=onnx "));
    EXPECT_TRUE(contains(out, "__REPRO: --api=direct --op=DynamicQuantize --dt=f32:f32:u16:u16 --rule=onnx 8x64"));
    EXPECT_TRUE(contains(out, "__REPRO: --op=Quantize --dt=f32:f32:s64:u8 8x64"));
    EXPECT_TRUE(contains(out, "tests:4 passed:4 "));
    expect_refused("--dt=f32:f32:s64:u8 8x64",
            "--dt: expected zero points of s64 with --op=Quantize or Dequantize alone, whose zero points are an "
            "attribute, "
            "given --op=DynamicQuantize");
}

/// A DynamicDequantize with a scale that is a power of two has one rounding at most, oneDNN's reorder, too.
TEST_F(dqbench_as_benchdnn, reorders_run_and_give_onednns_results) {
    const auto out = succeed("--reorder --threads=1 --peer=onednn_reorder --sdt=s8,u8 --ddt=f32 "
                             "--attr-scales=src:common:0.25 --attr-zero-points=,src:common:1 --stag=nhwc --dtag=nchw "
                             "2x16x3x4 --reset --peer=none --sdt=f32 --ddt=u8,u4,s16 --attr-scales=dst:common:2 64x64");
    EXPECT_TRUE(contains(out, "tests:7 passed:6 skipped:1 "));
    EXPECT_TRUE(contains(out, "6:SKIPPED (not supported: reorder: f32 to s16: "));
    EXPECT_EQ(matches(out, "(    onednn_reorder: 0 of 384 results differ\n)").size(), 4U) << out;
    EXPECT_TRUE(contains(out, "__REPRO: --threads=1 --op=DynamicQuantize --dt=f32:f32:undef:u4 --scales=2 64x64\n"));
}

TEST_F(dqbench_as_benchdnn, batch_files_are_found_in_the_folder_of_the_driver) {
    std::filesystem::create_directories(folder / "inputs/reorder");
    std::ofstream(folder / "inputs/reorder/all") << "--sdt=f32 --ddt=s8 8x64\n--ddt=f32 8x64\n";
    const auto out = succeed("--reorder --batch=all", "DQBENCH_INPUTS=inputs");
    EXPECT_TRUE(contains(out, "tests:2 passed:1 skipped:1 "));
    expect_refused("--graph --batch=all", "batch file 'all' was not found");
    // dqbench's own files stay.
    EXPECT_TRUE(contains(succeed("--mode=L --batch=test_smoke", "DQBENCH_INPUTS=inputs"), "0:LISTED "));
    EXPECT_TRUE(contains(succeed("layers --case=layers/linear_by_row.json", "DQBENCH_INPUTS=inputs"), "PASSED"));
}

TEST_F(dqbench_as_benchdnn, what_has_no_effect_is_told_first) {
    EXPECT_TRUE(succeed("--match=nothing 8x64").starts_with("no case matched --match=nothing\ntests:0 "));
    EXPECT_TRUE(succeed("8x64 --mode=L").starts_with("no problem is after --mode=L: no effect, "));
}

} // namespace

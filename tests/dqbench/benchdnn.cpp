// Command lines of benchdnn, pasted: what they run, or why they do not. Graphs are rewritten as benchdnn rewrites them.
#include <sstream>

#include "check.hpp"
#include "dqbench_support.hpp"
#include "quantization/text.hpp"
#include "run_settings.hpp"

namespace {

using namespace dqbench;
using namespace dqbench::tests;

const std::string no_case = "no case to run: no graph has DynamicQuantize, DynamicDequantize, Quantize or Dequantize";

/// The words of a command line.
lines words(const std::string &line) {
    std::istringstream from(line);
    lines all;
    for (std::string word; from >> word;)
        all.push_back(word);
    return all;
}

/// What a job does: the arguments that reproduce it, or why it is not supported.
std::string told(const job &j) {
    return j.unsupported.empty() ? repro(j) : j.unsupported;
}

class benchdnn_lines : public dqbench_graph {
  protected:
    /// What each job of a line does.
    lines run(const std::string &line) const {
        lines all;
        for (const auto &job : jobs_of(words(line)))
            all.push_back(told(job));
        return all;
    }
    /// The notes of a line.
    lines notes(const std::string &line) const {
        reader input(folder / "inputs");
        input.read_arguments(words(line));
        return input.notes();
    }
};

// ---- The reorder driver ------------------------------------------------------------------------------------------

const std::string quantize_s8 = "--op=DynamicQuantize --dt=f32:f32:undef:s8 ",
                  dequantize_s8 = "--op=DynamicDequantize --dt=s8:f32:undef:f32 ";

TEST_F(benchdnn_lines, reorders_of_quantized_types_run) {
    struct row {
        std::string line;
        lines expected;
    };
    const std::string small = "--api=direct --op=DynamicQuantize ", onnx = " --rule=onnx --scales=1 2x3";
    for (const auto &[line, expected] : {
                 // Without scales the scale is 1.
                 row {"--reorder --sdt=f32 --ddt=s8 2x16x3x4", {quantize_s8 + "--scales=1 2x16x3x4"}},
                 row {"--sdt=s8 --ddt=f32 2x3", {dequantize_s8 + "--scales=1 2x3"}},
                 // x / 2, and (q - -1) * 0.25.
                 row {"--ddt=u8 --attr-scales=dst:common:2 --attr-zero-points=dst:common:3 4",
                         {"--op=DynamicQuantize --dt=f32:f32:s32:u8 --scales=2 --zps=3 4"}},
                 row {"--sdt=s8 --ddt=bf16 --attr-scales=src:host_scalar:0.25:f16 --attr-zero-points=src0:common:-1:s8 "
                      "4",
                         {"--op=DynamicDequantize --dt=s8:f16:s8:bf16 --scales=0.25 --zps=-1 4"}},
                 // Each dim of a mask has scales of its own, which are drawn.
                 row {"--ddt=s8 --attr-scales=dst:per_dim_0 5x6", {quantize_s8 + "--qtype=per_channel --axis=0 5x6"}},
                 row {"--ddt=s8 --attr-scales=dst:2 5x6", {quantize_s8 + "--qtype=per_channel 5x6"}},
                 row {"--ddt=s8 --attr-scales=dst:per_dim_01 2x16x3x4",
                         {quantize_s8 + "--qtype=per_group --group=1x1x3x4 2x16x3x4"}},
                 row {"--ddt=s8 --attr-scales=dst:5 2x16x3", {quantize_s8 + "--qtype=per_group --group=1x16x1 2x16x3"}},
                 // One zero point for scales that differ, and the reverse.
                 row {"--ddt=s8 --attr-scales=dst:per_dim_1 --attr-zero-points=dst:common:2 5x6",
                         {"--op=DynamicQuantize --dt=f32:f32:s32:s8 --zps=2 --qtype=per_channel 5x6"}},
                 row {"--ddt=s8 --attr-scales=dst:0:2 --attr-zero-points=dst:per_dim_1:s8 5x6",
                         {"--op=DynamicQuantize --dt=f32:f32:s8:s8 --scales=2 --qtype=per_channel 5x6"}},
                 // Groups are of the last dims.
                 row {"--sdt=s4 --ddt=f16 --attr-scales=src:per_tensor:f16:1x16 "
                      "--attr-zero-points=src:per_tensor:s4:1x16 "
                      "12x24x7x32_n\"w\"",
                         {"--op=DynamicDequantize --dt=s4:f16:s4:f16 --qtype=per_group --group=1x1x1x16 "
                          "12x24x7x32n\"w\""}},
                 row {"--sdt=u8 --ddt=f32 --attr-scales=src:per_tensor:bf16 6x4",
                         {"--op=DynamicDequantize --dt=u8:bf16:undef:f32 --qtype=per_group --group=1x1 6x4"}},
                 // Layouts.
                 row {"--sdt=u8 --ddt=f32 --stag=nhwc --dtag=nchw,axb 1x32x8x3",
                         {"--op=DynamicDequantize --dt=u8:f32:undef:f32 --scales=1 --stag=nhwc --dtag=nchw 1x32x8x3",
                                 "--op=DynamicDequantize --dt=u8:f32:undef:f32 --scales=1 --stag=nhwc --dtag=axb "
                                 "1x32x8x3"}},
                 row {"--ddt=s8 --strides=6x1: 2x3", {quantize_s8 + "--scales=1 --stag=strides:6x1 2x3"}},
                 row {"--ddt=s8 --strides=6x1:1x2 2x3",
                         {quantize_s8 + "--scales=1 --stag=strides:6x1 --dtag=strides:1x2 2x3"}},
                 // Types of ONNX's rule.
                 row {"--ddt=f8_e4m3,f8_e5m2,f4_e2m1 2x3",
                         {small + "--dt=f32:f32:undef:f8_e4m3" + onnx, small + "--dt=f32:f32:undef:f8_e5m2" + onnx,
                                 small + "--dt=f32:f32:undef:f4_e2m1" + onnx}},
                 row {"--ddt=f4_e2m1 --attr-scales=dst:per_tensor:e8m0:1x32 64x64",
                         {small + "--dt=f32:f8_e8m0:undef:f4_e2m1 --rule=onnx --qtype=per_group --group=1x32 64x64"}},
                 // dqbench's own options say how to run.
                 row {"--mode=P --peer=onednn_reorder --threads=1 --ddt=s8 2",
                         {"--mode=P --threads=1 --peer=onednn_reorder " + quantize_s8 + "--scales=1 2"}},
                 row {"--ddt=s8 2 --reset --sdt=u8 2",
                         {quantize_s8 + "--scales=1 2", "--op=DynamicDequantize --dt=u8:f32:undef:f32 --scales=1 2"}},
         })
        EXPECT_EQ(run(line.starts_with("--reorder") ? line : "--reorder " + line), expected) << line;
}

TEST_F(benchdnn_lines, reorders_that_quantize_nothing_say_so) {
    const std::string no_quantization =
                              ": the operators convert f32, f16 and bf16 to s8, u8, s4, u4, f8_e4m3, f8_e5m2 and "
                              "f4_e2m1, and back",
                      s8_to_u8 = "reorder: s8 to u8" + no_quantization;
    struct row {
        std::string line;
        lines expected;
    };
    for (const auto &[line, expected] : {
                 // driver_reorder.md's and knobs_attr.md's examples.
                 row {"--sdt=s8 --ddt=s8 --stag=hwio --dtag=OIhw4i16o4i 32x32x3x3 --oflag=s8s8_comp:1 16x32x7x5",
                         {"reorder: --dtag=OIhw4i16o4i: layouts with blocks",
                                 "reorder: --dtag=OIhw4i16o4i: layouts with blocks"}},
                 row {"--sdt=s8 --ddt=u8 --stag=ncw,nwc --dtag=ncw,nwc --attr-scales=src:common:2.5 2x8x8",
                         {s8_to_u8, s8_to_u8, s8_to_u8, s8_to_u8}},
                 row {"4", {"reorder: f32 to f32" + no_quantization}},
                 row {"--ddt=e8m0,f4_e3m0 4",
                         {"reorder: f32 to e8m0" + no_quantization, "reorder: f32 to f4_e3m0" + no_quantization}},
                 row {"--ddt=s32 4", {"reorder: f32 to s32" + no_quantization}},
                 row {"--sdt=f64 --ddt=s8 4", {"reorder: f64 to s8" + no_quantization}},
                 row {"--ddt=s8 --oflag=zp_comp:1 4", {"reorder: --oflag=zp_comp:1: compensation"}},
                 row {"--ddt=s8 --attr-post-ops=sum:0.5 4", {"reorder: --attr-post-ops=sum:0.5: post-ops"}},
                 row {"--ddt=s8 --runtime_dim_mask=1 4",
                         {"reorder: --runtime-dim-mask=1: dims that are unknown when it is compiled"}},
                 row {"--ddt=s8 --attr-scales=src:common:2 4",
                         {"reorder: scales of src: DynamicQuantize has them of dst alone"}},
                 row {"--sdt=u8 --attr-zero-points=src:common:1+dst:common:2 4",
                         {"reorder: zero points of dst: DynamicDequantize has them of src alone"}},
                 row {"--ddt=s8 --attr-scales=dst:per_dim_1 4",
                         {"reorder: scales by per_dim_1: of a tensor of rank 1"}},
                 row {"--ddt=s8 --attr-scales=dst:per_dim_0 --attr-zero-points=dst:per_dim_1 4x4",
                         {"reorder: scales by per_dim_0 and zero points by per_dim_1: DynamicQuantize has one "
                          "granularity"}},
                 row {"--ddt=f8_e4m3 --attr-zero-points=dst:common:2 4", {"reorder: zero points of f8_e4m3"}},
                 row {"--sdt=s8 --attr-zero-points=src:per_tensor:s4 4", {"reorder: zero points of s4 beside s8"}},
                 row {"--api=graph --ddt=f4_e2m1 4",
                         {"reorder: --rule=onnx: expected --api=direct, given --api=graph"}},
         })
        EXPECT_EQ(run("--reorder " + line), expected) << line;
    // Such a job is reproduced by benchdnn's own arguments.
    const auto jobs = jobs_of(words("--reorder --sdt=s8 --ddt=u8 --attr-scales=,src:common:2.5 2x8x8"));
    ASSERT_EQ(jobs.size(), 2U);
    EXPECT_EQ(repro(jobs[1]), "--reorder --sdt=s8 --ddt=u8 --stag=abx --dtag=abx --attr-scales=src:common:2.5 2x8x8");
}

/// benchdnn searches the line that it prints, which tells types and tags at their defaults, too.
TEST_F(benchdnn_lines, a_pattern_is_searched_in_the_line_of_either_program) {
    const std::string dims = " --sdt=s8,u8 --ddt=f32,s8 4x4", s8 = dequantize_s8 + "--scales=1 4x4",
                      u8 = "--op=DynamicDequantize --dt=u8:f32:undef:f32 --scales=1 4x4",
                      none = ": the operators convert f32, f16 and bf16 to s8, u8, s4, u4, f8_e4m3, f8_e5m2 and "
                             "f4_e2m1, and back",
                      s8_to_s8 = "reorder: s8 to s8" + none, u8_to_s8 = "reorder: u8 to s8" + none;
    for (const auto &[pattern, expected] : {std::pair<std::string, lines> {"sdt=s8", {s8, s8_to_s8}},
                 {"ddt=f32", {s8, u8}}, {"ddt=s8", {s8_to_s8, u8_to_s8}}, {"dtag=abx", {s8, s8_to_s8, u8, u8_to_s8}},
                 {"^--reorder.*sdt=u8.*4x4$", {u8, u8_to_s8}}, {"^--op=DynamicDequantize.*u8:f32", {u8}}, {"oflag", {}},
                 {"^$", {}}})
        EXPECT_EQ(run("--reorder --match=" + pattern + dims), expected) << pattern;
    // dqbench's own line leaves out defaults other than those of --op and --dt.
    const std::string own = "--op=DynamicQuantize --dt=f32:f32:undef:s8 ";
    EXPECT_EQ(run("--match=per_ --qtype=per_tensor,per_channel 4x4"), (lines {own + "--qtype=per_channel 4x4"}));
    EXPECT_EQ(run("--match=undef:s8 4x4"), (lines {own + "4x4"}));
}

/// The lines of batch files that continue, name cases and comment.
TEST_F(benchdnn_lines, batch_files_of_reorders) {
    dqbench_reader::write(
            "inputs/reorder/more", "--sdt=u8 --ddt=f32 --stag=ab --attr-zero-points=src0:common:1 # jit only\n7x3");
    const auto path = dqbench_reader::write("batch",
            "--reset\n--skip-impl=ref,simple # ! test jit version only\n--ddt=s8\n"
            "--attr-scales=, \\\n              dst:per_dim_1\n17x33_n\"tail:0\"\n"
            "--reset --batch=more");
    EXPECT_EQ(run("--reorder --batch=" + path),
            (lines {"--skip-impl=ref,simple " + quantize_s8 + "--scales=1 17x33n\"tail:0\"",
                    "--skip-impl=ref,simple " + quantize_s8 + "--qtype=per_channel 17x33n\"tail:0\"",
                    "--op=DynamicDequantize --dt=u8:f32:s32:f32 --scales=1 --zps=1 --stag=ab 7x3"}));
}

// ---- Options of every driver --------------------------------------------------------------------------------------

TEST_F(benchdnn_lines, common_options_have_benchdnns_meaning) {
    struct row {
        std::string line, expected;
    };
    const std::string plain = "--op=DynamicQuantize --dt=f32:f32:undef:s8 4";
    for (const auto &[line, expected] : {
                 row {"--mode=b 4", "--mode=B " + plain},
                 row {"--mode=i 4", "--mode=I " + plain},
                 row {"--cold-cache=all 4", "--cache=cold " + plain},
                 row {"--cold-cache=all --cold-cache=none 4", plain},
                 row {"--attr-fpmath=bf16:true 4", "--op=DynamicQuantize --dt=f32:f32:undef:s8 --fpmath-mode=bf16 4"},
                 row {"--impl=ref,jit 4", "--impl=ref,jit " + plain},
                 row {"--skip-impl=ref --impl=native 4", "--impl=native " + plain}, // the latter of the two counts
                 row {"--impl=native --skip-impl= 4", plain},
                 row {"--skip-impl=ref --reset 4", plain},
                 // These are what dqbench does.
                 row {"--engine=cpu --cpu-isa-hints=none --mem-check=true --canonical=false --fast-ref=0 4", plain},
                 row {"--attr-scratchpad=library --attr-acc-mode=strict --attr-dropout= --mode-modifier= "
                      "--global-impl= 4",
                         plain},
                 row {"--memory-kind=usm --attr-rounding-mode=dst:environment 4", plain},
                 row {"--ctx-init=auto --ctx-exe=auto:auto:auto --execution-mode=direct --check-ref-impl=false 4",
                         plain},
         })
        EXPECT_EQ(run(line), lines {expected}) << line;
    // An empty value is the default.
    for (const auto *option : {"mode=B --mode", "threads=2 --threads", "cache=cold --cold-cache",
                 "fpmath-mode=any --attr-fpmath", "kernel=native --kernel", "max-ms-per-prb=7 --max-ms-per-prb",
                 "dt=f32:f32:s8:u8 --dt", "stag=ba --stag", "scales=2 --scales", "qtype=per_channel --qtype", "engine",
                 "mode-modifier", "cpu-isa-hints", "attr-deterministic", "expected-n-partitions", "buffer-prefix"})
        EXPECT_EQ(run(std::string("--") + option + "= 4"), lines {plain}) << option;
    for (const auto *option :
            {"sdt=s8 --sdt", "stag=ba --stag", "dtag=ba --dtag", "strides=1:1 --strides", "oflag=zp_comp:1 --oflag",
                    "attr-scales=dst:common:2 --attr-scales", "cross-engine=cpu2gpu --cross-engine",
                    "attr-zero-points=dst:common:2 --attr-zero-points", "attr-post-ops=sum --attr-post-ops",
                    "runtime-dim-mask=1 --runtime-dim-mask", "runtime-dim-mask=1 --runtime_dim_mask"})
        EXPECT_EQ(run(std::string("--reorder --ddt=s8 --") + option + "= 4"), (lines {quantize_s8 + "--scales=1 4"}))
                << option;
    EXPECT_EQ(run("--attr-fpmath=strict:false,any:false 4"),
            (lines {plain, "--op=DynamicQuantize --dt=f32:f32:undef:s8 --fpmath-mode=any 4"}));
    const auto repeated = jobs_of(words("--repeats-per-prb=3 4 --repeats-per-prb=0 4"));
    ASSERT_EQ(repeated.size(), 2U);
    EXPECT_EQ(repeated[0].repeats, 3U);
    EXPECT_EQ(repeated[1].repeats, 1U); // as in benchdnn
}

TEST_F(benchdnn_lines, options_without_effect_are_told_once) {
    EXPECT_EQ(notes("--expected-n-partitions=0 --expected-n-partitions=1 4"),
            (lines {"--expected-n-partitions: dqbench runs each op by itself and counts no partitions"}));
    EXPECT_EQ(notes("--allow-enum-tags-only=false --attr-deterministic=true --mode-modifier=M 4"),
            (lines {"--allow-enum-tags-only: dqbench takes a tag of any order of dims, and none with blocks",
                    "--attr-deterministic: dynquant gives the same bits in every run: --mode=B checks that",
                    "--mode-modifier: no effect: dqbench compiles one case after the other, and M is for GPUs"}));
    for (const auto &[option, expected] : {std::pair {"--mode-modifier=PM", "compiles one case after the other"},
                 {"--mode-modifier=P", "compiles one case after the other"},
                 {"--fast-ref=true", "compares with its reference kernel"},
                 {"--mem-check=false", "always checks that a case fits into memory"},
                 {"--attr-scratchpad=user", "no operator of dqbench has a scratchpad"},
                 {"--canonical=true", "prints the options that are not at their defaults"}}) {
        const auto told = notes(option + std::string(" 4"));
        ASSERT_EQ(told.size(), 1U) << option;
        EXPECT_NE(told[0].find(std::string(": no effect: ")), std::string::npos) << told[0];
        EXPECT_NE(told[0].find(expected), std::string::npos) << told[0];
    }
}

TEST_F(benchdnn_lines, options_of_the_whole_run) {
    const auto settings = [&](const std::string &line) {
        reader input(folder);
        input.read_arguments(words(line));
        return input.run();
    };
    EXPECT_EQ(settings("-v1 4").verbose, 1);
    EXPECT_EQ(settings("--verbose=99 4").verbose, 99);
    EXPECT_EQ(settings("--start=17 4").start, 17U);
    EXPECT_EQ(settings("4").verbose, 0);
    EXPECT_TRUE(settings("4").summary.failures);
    EXPECT_FALSE(settings("4").summary.implementations);
    const auto summary = settings("--summary=no-failures+impl+impl-csv --summary=no-impl 4").summary;
    EXPECT_FALSE(summary.failures);
    EXPECT_FALSE(summary.implementations);
    EXPECT_TRUE(summary.implementations_as_csv);
}

/// oneDNN's names of plain layouts, by its enumeration.
TEST_F(benchdnn_lines, tags_of_activations_and_weights) {
    using dynquant::dims;
    const dims four {2, 3, 4, 5}, five {2, 3, 4, 5, 6};
    for (const auto &[name, letters] :
            {std::pair {"nchw", "abcd"}, {"nhwc", "acdb"}, {"chwn", "bcda"}, {"oihw", "abcd"}, {"hwio", "cdba"},
                    {"iohw", "bacd"}, {"ohwi", "acdb"}, {"ldio", "abcd"}, {"goiw", "abcd"}})
        EXPECT_EQ(layout::parse(name).strides_for(four), layout::parse(letters).strides_for(four)) << name;
    for (const auto &[name, letters] : {std::pair {"ndhwc", "acdeb"}, {"goihw", "abcde"}, {"hwigo", "decab"},
                 {"oidhw", "abcde"}, {"ldgoi", "abdec"}})
        EXPECT_EQ(layout::parse(name).strides_for(five), layout::parse(letters).strides_for(five)) << name;
    EXPECT_EQ(layout::parse("ntc").strides_for({2, 3, 4}), (dims {4, 8, 1}));
    EXPECT_EQ(layout::parse("cn").strides_for({2, 3}), (dims {1, 2}));
}

TEST_F(benchdnn_lines, tags_with_blocks) {
    for (const auto *tag : {"nChw16c", "OIhw4i16o4i", "gOIhw16o16i", "aBx16b", "BAcd16a16b", "Ab3a", "ldOI32o4i"})
        EXPECT_TRUE(is_blocked(tag)) << tag;
    // No block, a block without its dim in upper case, a dim in upper case without a block, a block of no dim.
    for (const auto *tag : {"nchw", "ABc", "Foo1", "abc16b4d", "ab16b", "ABc16b", "aBy16b", "16b", ""})
        EXPECT_FALSE(is_blocked(tag)) << tag;
    dqbench_reader::expect_refused(words("--reorder --stag=Foo1"),
            "--stag: expected a layout such as abcd, acdb, nhwc, abx, axb, any or "
            "strides:12x4x1, given 'Foo1'");
}

// ---- The graph driver ---------------------------------------------------------------------------------------------

const std::string per_group = attribute("qtype", "string", R"("per_group")");

/// DynamicDequantize of 1x32x128x32 by groups of 8 along dim 2, as oneDNN's dynamicdq_s4.json.
std::string grouped() {
    return graph(op(0, "DynamicDequantize", per_group + ", " + attribute("group_shape", "s64[]", "[1, 1, 8, 1]"),
            strided(0, "s4", "1, 32, 128, 32", "131072, 4096, 32, 1") + ", "
                    + strided(1, "f32", "1, 32, 16, 32", "16384, 512, 32, 1") + ", "
                    + strided(2, "s4", "1, 32, 16, 32", "16384, 512, 32, 1"),
            strided(10, "f32", "1, 32, 128, 32", "131072, 4096, 32, 1")));
}

/// DynamicQuantize of 2x64x3x3 by 64 channels, as oneDNN's dynamicq.json.
std::string by_channel() {
    return graph(op(0, "DynamicQuantize", per_channel + ", " + attribute("axis", "s64", "1"),
            strided(0, "f32", "2, 64, 3, 3", "576, 9, 3, 1") + ", " + strided(1, "f32", "64", "1"),
            strided(2, "s8", "2, 64, 3, 3", "576, 9, 3, 1")));
}

/// DynamicQuantize by groups with a scale of rank 0, and Quantize, whose src has a batch.
std::string scalar_beside_a_batch() {
    return graph(quantize + ", "
            + op(0, "DynamicQuantize", per_group + ", " + attribute("group_shape", "s64[]", "[1, 4]"),
                    tensor(0, "f32", "4, 8", "") + ", " + tensor(11, "f32", "", ""), tensor(12, "s8", "4, 8", "")));
}

TEST_F(benchdnn_lines, what_depends_on_new_shapes_and_attributes_follows) {
    struct row {
        std::string content, arguments, expected;
    };
    const std::string name = "n\"g.json:0\"", groups = "--op=DynamicDequantize --dt=s4:f32:s4:f32 ",
                      channels = "--op=DynamicQuantize --dt=f32:f32:undef:s8 ";
    for (const auto &[content, arguments, expected] : {
                 row {grouped(), "--graph", groups + "--qtype=per_group --group=1x1x8x1 1x32x128x32"},
                 // A new group_shape: scales and zps follow.
                 row {grouped(), "--graph --op-attrs=0:group_shape:1x1x128x1",
                         groups + "--qtype=per_group --group=1x1x128x1 1x32x128x32"},
                 // New dims of scales, or of src: group_shape follows.
                 row {grouped(), "--in-shapes=1:1x32x4x8+2:1x32x4x8",
                         groups + "--qtype=per_group --group=1x1x32x4 1x32x128x32"},
                 row {grouped(), "--in-shapes=0:1x64x32x32", groups + "--qtype=per_group --group=1x2x2x1 1x64x32x32"},
                 // All of them, which must agree.
                 row {grouped(), "--in-shapes=0:1x2x8x2+1:1x2x2x2+2:1x2x2x2 --op-attrs=0:group_shape:1x1x4x1",
                         groups + "--qtype=per_group --group=1x1x4x1 1x2x8x2"},
                 row {grouped(), "--in-shapes=0:1x2x8x2 --op-attrs=0:group_shape:1x1x4x1",
                         groups + "--qtype=per_group --group=1x1x4x1 1x2x8x2"},
                 // Another granularity.
                 row {grouped(), "--op-attrs=0:qtype:per_channel*axis:3",
                         groups + "--qtype=per_channel --axis=3 1x32x128x32"},
                 row {grouped(), "--op-attrs=0:qtype:per_tensor --in-shapes=1:1+2:1", groups + "1x32x128x32"},
                 row {grouped(), "--op-attrs=0:qtype:per_tensor", groups + "1x32x128x32"},
                 // What is not given follows what is.
                 row {grouped(), "--in-shapes=1:1x32x4x32", groups + "--qtype=per_group --group=1x1x32x1 1x32x128x32"},
                 row {grouped(), "--op-attrs=0:qtype:per_channel*axis:3 --in-shapes=1:32",
                         groups + "--qtype=per_channel --axis=3 1x32x128x32"},
                 row {grouped(), "--op-attrs=0:qtype:per_tensor --in-shapes=1:1", groups + "1x32x128x32"},
                 // undef removes an attribute; without axis it is 1.
                 row {by_channel(), "--op-attrs=0:axis:0,0:axis:undef --match=per_channel.2",
                         channels + "--qtype=per_channel 2x64x3x3"},
                 row {by_channel(), "--op-attrs=0:qtype:undef", channels + "2x64x3x3"},
                 row {by_channel(), "--op-attrs=0:axis:0", channels + "--qtype=per_channel --axis=0 2x64x3x3"},
                 row {by_channel(), "--in-shapes=0:2x32x3x3", channels + "--qtype=per_channel 2x32x3x3"},
                 row {by_channel(), "--in-shapes=0:2x32x3x3*acdb+1:32",
                         channels + "--stag=strides:288x1x96x32 --qtype=per_channel 2x32x3x3"},
                 row {by_channel(), "--op-attrs=0:qtype:per_group*group_shape:2x32x3x3",
                         channels + "--qtype=per_group --group=2x32x3x3 2x64x3x3"},
                 // The minibatch is dim 0, of scales by group, too.
                 row {by_channel(), "--mb=5", channels + "--qtype=per_channel 5x64x3x3"},
                 row {grouped(), "--mb=3", groups + "--qtype=per_group --group=1x1x8x1 3x32x128x32"},
                 row {grouped(), "--mb=0", groups + "--qtype=per_group --group=1x1x8x1 1x32x128x32"},
                 // Types by tensor.
                 row {grouped(), "--graph --dt=0:s8+2:s8",
                         "--op=DynamicDequantize --dt=s8:f32:s8:f32 --qtype=per_group --group=1x1x8x1 1x32x128x32"},
                 row {grouped(), "--graph --dt=10:f16+1:f16",
                         "--op=DynamicDequantize --dt=s4:f16:s4:f16 --qtype=per_group --group=1x1x8x1 1x32x128x32"},
         })
        EXPECT_EQ(repros(content, words(arguments)), lines {expected + name}) << arguments;
}

TEST_F(benchdnn_lines, what_cannot_follow_is_refused) {
    struct row {
        std::string content, arguments, message;
    };
    const std::string group = "op 0 'n' (DynamicDequantize): ",
                      follows = group + "group_shape follows src and scales: ";
    for (const auto &[content, arguments, message] : {
                 row {grouped(), "--op-attrs=0:group_shape:1x1x48x1",
                         group + "group_shape: expected divisors of the dims of src, 1x32x128x32, given 1x1x48x1"},
                 row {grouped(), "--op-attrs=0:group_shape:1x8",
                         group + "group_shape: expected 4 extents, as many as src has dims, given 1x8"},
                 row {grouped(), "--op-attrs=0:group_shape:1x1x0x1",
                         group + "group_shape: expected extents of 1 or more, given 0 at dim 2"},
                 row {grouped(), "--in-shapes=0:1x32x100x32",
                         follows
                                 + "expected dims of src that are multiples of those of scales, given 1x32x100x32 and "
                                   "1x32x16x32"},
                 row {grouped(), "--in-shapes=0:32x128",
                         follows + "expected as many dims of both, given 32x128 and 1x32x16x32"},
                 row {grouped(), "--in-shapes=2:1x32x4x32", group + "zps: expected dims 1x32x16x32, given 1x32x4x32"},
                 row {grouped(), "--op-attrs=0:axis:1y*qtype:per_channel",
                         group
                                 + "axis: expected an integer from -9223372036854775808 to 9223372036854775807, given "
                                   "'1y'"},
                 row {grouped(), "--in-shapes=0:-+1:-+2:-",
                         group + "group_shape: expected src with dims, given a scalar"},
                 row {scalar_beside_a_batch(), "--in-shapes=0:scalar --mb=2",
                         "op 0 'n' (DynamicQuantize): group_shape: expected src with dims, given a scalar"},
                 row {by_channel(), "--op-attrs=0:scales:1x2",
                         "--op-attrs: op 0 (DynamicQuantize) has no attribute scales"},
                 row {graph(quantize), "--op-attrs=7:scales:undef", "--op-attrs: scales: expected values, given undef"},
                 row {grouped(), "--in-shapes=0:1x2x8x2+1:1x2x4x2+2:1x2x4x2 --op-attrs=0:group_shape:1x1x4x1",
                         group + "scales: expected dims 1x2x2x2, given 1x2x4x2"},
                 row {by_channel(), "--in-shapes=1:32", "op 0 'n' (DynamicQuantize): scales: expected 64, given 32"},
                 row {by_channel(), "--op-attrs=0:axis:0 --in-shapes=1:64",
                         "op 0 'n' (DynamicQuantize): scales: expected 2, given 64"},
                 row {by_channel(), "--op-attrs=0:qtype:per_group",
                         "op 0 'n' (DynamicQuantize): group_shape: expected 4 extents, as many as src has dims, "
                         "given "},
                 row {graph(quantize), "--tensor-property=1:constant+9:constant",
                         "--tensor-property: there is no tensor 9 in " + file},
                 row {by_channel(), "--in-shapes=2:3", "dst: expected the dims of src, 2x64x3x3, given 3"},
                 row {by_channel(), "--graph --dt=f16",
                         "--dt: expected ID:TYPE[+ID:TYPE...] for a graph with integers, as with op 0 'n' "
                         "(DynamicQuantize), given f16"},
                 row {by_channel(), "--graph --dt=9:f16", "--dt: there is no tensor 9 in "},
                 row {by_channel(), "--graph --dt=0:f17",
                         "--dt: expected a word of oneDNN Graph after ID:, given 'f17'"},
                 row {by_channel(), "--graph --dt=s8",
                         "--dt: expected undef, f32, bf16 or f16 for a graph of floats, or ID:TYPE[+ID:TYPE...], given "
                         "'s8'"},
                 row {by_channel(), "--tensor-property=0:fixed", "--tensor-property: expected a word of oneDNN Graph"},
                 row {by_channel(), "--op-kind=0:ReLU",
                         "--op-kind: expected binary and eltwise ops, given op 0 'n' (DynamicQuantize) and ReLU"},
                 row {by_channel(), "--op-kind=7:ReLU", "--op-kind: there is no op 7 in "},
                 row {by_channel(), "--op-kind=Exp", "--op-kind: expected ID:WORD, given 'Exp'"},
                 row {by_channel(), "--mb=-1", "--mb: expected an integer from 0 to"},
         })
        expect_refused(content, message, words(arguments));
}

TEST_F(benchdnn_lines, what_has_no_effect_on_graphs_is_told) {
    const std::string no_kinds = "--op-kind: no effect: dqbench runs none of these ops",
                      no_properties = "--tensor-property: no effect: dqbench binds all tensors before each run",
                      op_0 = file + ": op 0 'n' (DynamicQuantize): ";
    write(graph(quantize + ", " + op(1, "Abs", "", x, x)));
    EXPECT_EQ(notes("--op-kind=1:Exp,1:Tanh --case=" + file), (lines {no_kinds, file + ": not of this family: Abs"}));
    write(by_channel());
    EXPECT_EQ(notes("--tensor-property=0:constant+1:host_scalar --case=" + file), (lines {no_properties}));
    EXPECT_EQ(notes("--graph --in-shapes=1:64*2 --case=" + file),
            (lines {op_0
                    + "--in-shapes: strides of tensor 1 are without effect: scales and zps of dqbench are dense"}));
    EXPECT_EQ(notes("--graph --in-shapes=1:64*1,1:64*a --case=" + file), lines());
    EXPECT_EQ(notes("--graph --op-attrs=0:group_shape:1x1x1x1 --case=" + file),
            (lines {op_0 + "--op-attrs: group_shape is without effect beside qtype per_channel"}));
}

/// Ops must agree about the dims of a tensor, which is why tensors between two ops have no new ones.
TEST_F(benchdnn_lines, ops_share_the_dims_of_a_tensor) {
    const auto groups_of_4 = per_group + ", " + attribute("group_shape", "s64[]", "[1, 4]");
    const auto floats = [](int id) { return strided(id, "f32", "4, 8", "8, 1"); };
    const auto dequantize = [&](int id, int src) {
        return op(id, "DynamicDequantize", groups_of_4,
                strided(src, "s8", "4, 8", "8, 1") + ", " + strided(1, "f32", "4, 2", "2, 1"), floats(src + 1));
    };
    expect_refused(graph(dequantize(0, 2) + ", "
                           + op(1, "Quantize", scales("1"), floats(3), strided(9, "s8", "4, 8", "8, 1"))),
            "--in-shapes: expected inputs and outputs of the graph, given tensor 3 between two ops",
            {"--in-shapes=3:4x16"});
    const auto shared = graph(dequantize(0, 2) + ", " + dequantize(1, 5));
    expect_refused(shared,
            file
                    + ": tensor 1: expected the same dims in all ops, given 4x1 in op 0 'n' (DynamicDequantize) and "
                      "4x2 "
                      "in op 1 'n' (DynamicDequantize)",
            {"--op-attrs=0:group_shape:1x8"});
    const std::string each = "--op=DynamicDequantize --dt=s8:f32:undef:f32 --qtype=per_group --group=1x8 4x8n\"g.json:";
    EXPECT_EQ(repros(shared, {"--op-attrs=0:group_shape:1x8+1:group_shape:1x8"}), (lines {each + "0\"", each + "1\""}));
}

TEST_F(benchdnn_lines, options_of_the_other_driver_are_refused) {
    const auto decided = "which the graph, --op-attrs and --in-shapes decide";
    for (const auto &[line, message] : {
                 std::pair<std::string, std::string> {"--reorder --in-shapes=0:2x3 4x4",
                         "--in-shapes: expected --graph before it, given --reorder, which has no such option"},
                 {"--reorder --mb=7 4x4",
                         "--mb: expected --graph before it, given --reorder, which has no such option"},
                 {"--op-attrs=0:a:b --reorder 4x4", "--reorder: expected no --op-attrs before it, which is of --graph"},
                 {"--graph --qtype=per_channel", "--qtype: expected options of benchdnn's graph driver after --graph"},
                 {"--graph --sdt=f32", "--sdt: expected options of benchdnn's graph driver after --graph"},
                 {"--graph --attr-scales=src:common:2",
                         "--attr-scales: expected options of benchdnn's graph driver after --graph"},
                 {"--graph --scales=3", "--scales: expected options of benchdnn's graph driver after --graph"},
                 {"--group=7 --graph", std::string("--graph: expected no --group before it, ") + decided},
                 {"--stag=ba --graph", std::string("--graph: expected no --stag before it, ") + decided},
         })
        dqbench_reader::expect_refused(words(line), message);
}

/// benchdnn ignores ids that the graph has not, and oneDNN's batch files have some, and mistakes in lines of other ops.
TEST_F(benchdnn_lines, mistakes_of_onednns_batch_files_are_told) {
    write(by_channel());
    EXPECT_EQ(notes("--graph --in-shapes=0:2x32x3x3+7:4 --case=" + file),
            (lines {file + ": --in-shapes: there is no input or output 7"}));
    dqbench_reader::expect_refused(
            words("--in-shapes=0:2x32x3x3+7:4 --case=" + file), file + ": --in-shapes: there is no input or output 7");
    dqbench_reader::expect_refused(words("--graph --in-shapes=2*abc:3 --case=" + file),
            "--in-shapes: expected an id from 0 to 18446744073709551615, given '2*abc'");
    write(graph(op(3, "ReLU", "", x, x)));
    EXPECT_EQ(notes("--graph --in-shapes=2*abc:3 --case=" + file),
            (lines {file + ": not of this family: ReLU",
                    file + ": --in-shapes: expected an id from 0 to 18446744073709551615, given '2*abc'", no_case}));
}

/// DIMSn"g.json:ID" of each case: the dims that a minibatch gave it.
class benchdnn_minibatch : public benchdnn_lines {
  protected:
    lines dims(const std::string &content, const std::string &arguments) const {
        lines all;
        for (const auto &job : jobs(content, words(arguments)))
            all.push_back(dynquant::to_string(job.what.prb.extents) + " of " + job.what.prb.name);
        return all;
    }
};

std::string f32(int id, const std::string &shape) {
    return tensor(id, "f32", shape, "");
}

/// Dequantize of tensor 10 * id to 10 * id + 1.
std::string dequantize(int id, const std::string &shape) {
    return op(id, "Dequantize", scales("1"), tensor(10 * id, "s8", shape, ""), f32(10 * id + 1, shape));
}

/// Two operands that Dequantize gives to an op, and Quantize of its result.
std::string of_two(
        const std::string &kind, const std::string &first, const std::string &second, const std::string &result) {
    return graph(dequantize(1, first) + ", " + dequantize(2, second) + ", "
            + op(3, kind, "", f32(11, first) + ", " + f32(21, second), f32(30, result)) + ", "
            + op(4, "Quantize", scales("1"), f32(30, result), tensor(40, "s8", result, "")));
}

TEST_F(benchdnn_minibatch, is_of_the_inputs_that_benchdnn_chooses) {
    struct row {
        std::string content;
        lines expected;
    };
    for (const auto &[content, expected] : {
                 // Weights have none; MatMul of more dims has two batches.
                 row {of_two("MatMul", "2, 4", "4, 4", "2, 4"),
                         {"7x4 of g.json:1", "4x4 of g.json:2", "7x4 of g.json:4"}},
                 row {of_two("MatMul", "2, 3, 4", "2, 4, 5", "2, 3, 5"),
                         {"7x3x4 of g.json:1", "7x4x5 of g.json:2", "7x3x5 of g.json:4"}},
                 // The second operand of an elementwise op has one if it has as many dims, and no single row.
                 row {of_two("Add", "2, 4", "2, 4", "2, 4"), {"7x4 of g.json:1", "7x4 of g.json:2", "7x4 of g.json:4"}},
                 row {of_two("Add", "2, 4", "1, 4", "2, 4"), {"7x4 of g.json:1", "1x4 of g.json:2", "7x4 of g.json:4"}},
                 row {of_two("Add", "2, 4", "4", "2, 4"), {"7x4 of g.json:1", "4 of g.json:2", "7x4 of g.json:4"}},
                 row {of_two("Multiply", "4", "2, 4", "2, 4"), {"4 of g.json:1", "7x4 of g.json:2", "7x4 of g.json:4"}},
                 row {of_two("PReLU", "2, 4", "4", "2, 4"), {"7x4 of g.json:1", "4 of g.json:2", "7x4 of g.json:4"}},
         })
        EXPECT_EQ(dims(content, "--mb=7"), expected) << content;
    dqbench_graph::expect_refused(
            graph(op(3, "MatMul", "", tensor(1, "f32", "", "") + ", " + f32(21, "2, 4"), f32(30, "2, 4"))),
            "--mb: expected inputs with a batch, given none in " + file, {"--mb=7"});
}

/// A result keeps dim 0 except where its op may move it, which a note tells.
TEST_F(benchdnn_minibatch, passes_through_other_ops) {
    const auto behind = [](const std::string &kind) {
        return graph(op(1, kind, "", f32(1, "2, 2"), f32(2, "2, 2")) + ", "
                + op(2, "Quantize", scales("1"), f32(2, "2, 2"), tensor(3, "s8", "2, 2", "")));
    };
    EXPECT_EQ(dims(behind("GELU"), "--mb=7"), (lines {"7x2 of g.json:2"}));
    EXPECT_EQ(dims(behind("StaticTranspose"), "--graph --mb=7"), (lines {"2x2 of g.json:2"}));
    EXPECT_EQ(notes("--graph --mb=7 --case=" + file),
            (lines {file + ": not of this family: StaticTranspose",
                    file
                            + ": --mb: the batch does not go beyond op 1 'n' (StaticTranspose): write the dims of what "
                              "follows by --in-shapes"}));
}

/// Strides stay where more rows do not overlap; else they are dense in the same order of dims.
TEST_F(benchdnn_minibatch, keeps_strides) {
    const auto quantize_of = [](const std::string &src, const std::string &dst) {
        return graph(op(0, "Quantize", scales("1"), strided(0, "f32", "4, 8", src), strided(1, "u8", "4, 8", dst)));
    };
    const std::string quantize_2x8 = "--op=Quantize --dt=f32:f32:undef:u8 --scales=1 ", name = "6x8n\"g.json:0\"";
    EXPECT_EQ(repros(quantize_of("16, 1", "16, 1"), {"--mb=6"}),
            (lines {quantize_2x8 + "--stag=strides:16x1 --dtag=strides:16x1 " + name}));
    EXPECT_EQ(repros(quantize_of("1, 4", "8, 1"), {"--mb=6"}), (lines {quantize_2x8 + "--stag=strides:1x6 " + name}));
    EXPECT_EQ(repros(quantize_of("8, 1", "8, 1"), {"--in-shapes=0:4x8*20x2", "--mb=6"}),
            (lines {quantize_2x8 + "--stag=strides:20x2 " + name}));
    // The only row may be of any stride: 1 would overlap.
    const auto one_row =
            graph(op(0, "Quantize", scales("1"), strided(0, "f32", "1, 8", "1, 1"), strided(1, "u8", "1, 8", "1, 1")));
    EXPECT_EQ(repros(one_row, {"--mb=6"}), (lines {quantize_2x8 + name}));
}

// ---- oneDNN's documentation ----------------------------------------------------------------------------------------

/// The lines of driver_graph.md. No graph of them has one of the four ops; these have the same ops as oneDNN's files of
/// their names.
TEST_F(benchdnn_lines, of_the_documentation_of_graphs_name_the_ops_that_are_not_run) {
    const auto convolution = op(0, "Convolution", attribute("strides", "s64[]", "[1, 1]"),
            f32(0, "2, 32, 4, 4") + ", " + f32(1, "64, 32, 1, 1"), f32(2, "2, 64, 4, 4"));
    const auto relu = op(1, "ReLU", "", f32(2, "2, 64, 4, 4"), f32(3, "2, 64, 4, 4"));
    const auto sum = op(0, "Add", "", f32(0, "1, 8, 2, 2") + ", " + f32(1, "1, 1, 1, 1"), f32(2, "1, 8, 2, 2"));
    for (const std::string place : {"inputs/graph/", "inputs/tests/benchdnn/inputs/graph/"})
        dqbench_reader::write(place + "pattern/f32/conv_post_ops_fusion.json", graph(convolution + ", " + relu));
    dqbench_reader::write("inputs/graph/op/f32/add.json", graph(sum));
    dqbench_reader::write("inputs/graph/op/f32/conv_2d.json", graph(convolution));

    const std::string fused = "--case=pattern/f32/conv_post_ops_fusion.json", add = "--case=op/f32/add.json",
                      conv = "--case=op/f32/conv_2d.json",
                      five_dims = "--op-attrs=0:strides:1x1x1*pads_begin:0x0x0*pads_end:0x0x0*dilations:1x1x1 ";
    for (const auto &[line, ops] : {
                 std::pair {"--mode=P --graph --case=./tests/benchdnn/inputs/graph/pattern/f32/"
                            "conv_post_ops_fusion.json"
                                 + std::string(),
                         "Convolution, ReLU"},
                 {"--mode=P --graph " + fused, "Convolution, ReLU"},
                 {"--mode=C --graph --in-shapes=0:2x64x112x112+1:32x64x2x2 " + fused, "Convolution, ReLU"},
                 {"--mode=C --graph --in-shapes=0:*dcba+1:*dcba " + fused, "Convolution, ReLU"},
                 {"--mode=C --graph --in-shapes=0:*802816x25088x112x1 " + fused, "Convolution, ReLU"},
                 {"--mode=C --graph --in-shapes=0:2x64x112x112*dcba+1:32x64x2x2*dcba " + fused, "Convolution, ReLU"},
                 {"--mode=C --graph --in-shapes=0:2x64x112x112*802816x12544x112x1 " + fused, "Convolution, ReLU"},
                 {"--mode=C --graph --in-shapes=0:2x64x112x112x112+1:32x64x2x2x2 " + five_dims + fused,
                         "Convolution, ReLU"},
                 {"--mode=C --graph --in-shapes=0:2x64x112x112x112*edcba+1:32x64x2x2x2*edcba " + five_dims + fused,
                         "Convolution, ReLU"},
                 {"--mode=C --graph --in-shapes=0:- " + add, "Add"},
                 {"--mode=C --graph --in-shapes=0:0+1:0 " + add, "Add"},
                 {"--mode=P --graph --op-attrs=,0:strides:4x4 " + conv, "Convolution"},
                 {"--mode=P -v1 --graph --mb=1,2,3 " + conv, "Convolution"},
                 {"--mode=C --graph " + conv, "Convolution"},
         }) {
        EXPECT_EQ(run(line), lines()) << line;
        const auto told = notes(line);
        ASSERT_EQ(told.size(), 2U) << line;
        EXPECT_TRUE(told[0].ends_with(std::string(".json: not of this family: ") + ops)) << told[0];
        EXPECT_EQ(told[1], no_case);
    }
}

/// This rewrites a graph that has one of the four ops as those lines do.
TEST_F(benchdnn_lines, of_the_documentation_of_graphs_rewrite_quantize) {
    dqbench_reader::write("inputs/graph/op/f32/quantize.json",
            graph(op(7, "Quantize", scales("0.5"), strided(0, "f32", "2, 32, 112, 112", "401408, 12544, 112, 1"),
                    strided(2, "u8", "2, 32, 112, 112", "401408, 12544, 112, 1"))));
    const std::string start = "--op=Quantize --dt=f32:f32:undef:u8 --scales=", name = "n\"quantize.json:7\"";
    const auto half = [&](const std::string &more) { return start + "0.5 " + more + name; };
    for (const auto &[options, expected] : {
                 std::pair<std::string, lines> {"--mode=P --graph", {"--mode=P " + half("2x32x112x112")}},
                 {"--mode=C --graph --in-shapes=0:2x64x112x112", {half("2x64x112x112")}},
                 {"--mode=C --graph --in-shapes=0:*dcba", {half("--stag=strides:1x2x64x7168 2x32x112x112")}},
                 {"--mode=C --graph --in-shapes=0:*802816x25088x112x1",
                         {half("--stag=strides:802816x25088x112x1 2x32x112x112")}},
                 {"--mode=C --graph --in-shapes=0:2x64x112x112*dcba",
                         {half("--stag=strides:1x2x128x14336 2x64x112x112")}},
                 {"--mode=C --graph --in-shapes=0:2x64x112x112*802816x12544x112x1", {half("2x64x112x112")}},
                 {"--mode=C --graph --in-shapes=0:2x64x112x112x112", {half("2x64x112x112x112")}},
                 {"--mode=C --graph --in-shapes=0:2x64x112x112x112*edcba",
                         {half("--stag=strides:1x2x128x14336x1605632 2x64x112x112x112")}},
                 {"--mode=C --graph --in-shapes=0:-", {half("scalar")}},
                 {"--mode=C --graph --in-shapes=0:0", {half("0")}},
                 {"--mode=P --graph --op-attrs=,7:scales:0.25",
                         {"--mode=P " + half("2x32x112x112"), "--mode=P " + start + "0.25 2x32x112x112" + name}},
                 {"--mode=P -v1 --graph --mb=1,2,3",
                         {"--mode=P " + half("1x32x112x112"), "--mode=P " + half("2x32x112x112"),
                                 "--mode=P " + half("3x32x112x112")}},
         })
        EXPECT_EQ(run(options + " --case=op/f32/quantize.json"), expected) << options;
    dqbench_reader::write("inputs/graph/test_graph_ci", "--case=op/f32/quantize.json");
    EXPECT_EQ(run("--mode=P --graph --batch=test_graph_ci"), (lines {"--mode=P " + half("2x32x112x112")}));
    dqbench_reader::expect_refused(words("--mode=P --engine=gpu --graph --batch=test_graph_ci"), "--engine: ");
    dqbench_reader::write("inputs/inputs/reorder/test_reorder_all", "--ddt=s8 4");
    EXPECT_EQ(run("--reorder --batch=inputs/reorder/test_reorder_all"), (lines {quantize_s8 + "--scales=1 4"}));
}

// ---- Two runs ------------------------------------------------------------------------------------------------------

/// Writes one more into the third byte of dst in each run.
class counting_program : public program {
  public:
    explicit counting_program(dynquant::dims strides)
        : strides_(std::move(strides)) {}
    dynquant::dims dst_strides() const override { return strides_; }
    dynquant::operation_info info() const override { return {dynquant::kernel_kind::native, "none"}; }
    void bind(const buffers &b) override { dst_ = static_cast<std::uint8_t *>(b.dst); }
    void execute() override { dst_[2] = ++runs_; }

  private:
    dynquant::dims strides_;
    std::uint8_t *dst_ = nullptr, runs_ = 0;
};

TEST(benchdnn_mode_b, finds_a_byte_that_differs_between_two_runs) {
    const test_case what {.mode = run_mode::bitwise, .prb = {{3, 5}, ""}};
    compiled_case c(what);
    phase_times times;
    EXPECT_EQ(check_bitwise(c, times).state, case_state::passed);
    c.program = std::make_unique<counting_program>(dynquant::dims {5, 1});
    const auto found = check_bitwise(c, times);
    EXPECT_EQ(found.state, case_state::failed);
    EXPECT_EQ(found.reason, "1 of 15 bytes differ between two runs, the first at 2");
}

} // namespace

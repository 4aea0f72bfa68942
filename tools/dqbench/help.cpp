#include "help.hpp"

#include "json_graph/rewrite.hpp"
#include "options.hpp"
#include "perf_template.hpp"
#include "quantization/text.hpp"

namespace dqbench {
namespace {

constexpr const char *introduction =
        R"(dqbench: checks and measures dynquant's operators, in the manner of oneDNN's benchdnn.

usage: dqbench [OPTION | PROBLEM]...
       dqbench layers [OPTION]...        runs chains of ops around a MatMul; layers --help
       dqbench verify [OPTION]...        compares digests of results with a committed table; verify --help

An option holds for the problems after it. Where it takes a list (a,b,c), each problem is run with each
value, and lists of several options multiply. A problem is the dims of the tensors with an optional name,
8x64x56x56 or 8x64x56x56n"conv1"; a tensor of rank 0 is `scalar`; dims of 0 are legal. Where the values
of an option are words, the first is the default; --mode's default is C.

  dqbench --qtype=per_tensor,per_channel 8x64x56x56
  dqbench --mode=P --peer=onednn_graph --dt=f32:f32:s8:u8 1x256x56x56
  dqbench --op=DynamicDequantize --dt=s4:f16:undef:f16 --qtype=per_group --group=1x32 32x4096
  dqbench --mode=P --peer=flat,xnnpack --threads=1,4 --batch=perf_1_per_tensor
  dqbench --kernel=native --batch=test_ci
  dqbench --in-shapes=0:2x64x3x3*acdb --op-attrs=1:scales:0.5*zps:3 --case=reorder.json

)";

constexpr const char *commands =
        R"(  --reset                       back to the defaults of the options marked with *
  --batch=FILE                  read options and problems from FILE, which is looked for beside the
                                file that names it, then in $DQBENCH_INPUTS, if that is set, and then
                                in benchdnn_inputs/. # begins a comment
  --case=FILE                   run each DynamicQuantize, DynamicDequantize, Quantize and Dequantize of a
                                oneDNN Graph in JSON, looked for as batch files are
  --graph, --reorder            benchdnn's drivers: --graph says that --dt changes types of graphs; after
                                --reorder come --sdt, --ddt, --stag, --dtag, --strides, --attr-scales,
                                --attr-zero-points and dims, as in benchdnn
                                The rest of benchdnn's options: tools/dqbench/README.md
  --start=N                     skip the cases before number N
  --repeats-per-prb=N           run each case N times (1)
  -vN, --verbose=N              from 1 on, a line before each case (0)
  --summary=[no-]NAME[+...]     lists at the end: failures (the default), impl, impl-csv
  --match=REGEX                 run the cases in whose arguments after __REPRO:, or for a reorder or a graph in
                                benchdnn's, it is found: a POSIX extended expression
  --perf-template=def|csv|TEXT  the format of performance lines; below
  --help                        this text
  --version                     the version
)";

constexpr const char *explanations =
        R"(Data types: f32, f16 or bf16 to s8, u8, s4 or u4 for DynamicQuantize, the reverse for DynamicDequantize; f32 to
s8, u8, f8_e4m3 or f8_e5m2 for Quantize, the reverse for Dequantize. Scales f32, f16 or bf16. Zero points s32, s8 or u8,
beside 4-bit integers also s4 or u4, or undef for none, as 8-bit floats must have.
Quantize and Dequantize have them as attributes of s64; another type there says from which range they are drawn.
--rule=onnx, for the dynamic ops through --api=direct, rounds as ONNX's QuantizeLinear and takes its types too:
src of DynamicQuantize s32; the quantized side u32, s32, u16, s16, u2, s2, f16, bf16, f8_e4m3fnuz, f8_e5m2fnuz,
f6_e2m3, f6_e3m2, f4_e2m1 and 8-bit floats; scales s32, f8_e8m0 and f8_e4m3; zero points of the quantized type.

--scales=absmax and the other words let each run compute the scales, and the zero points that a range of minmax needs,
from src: DynamicQuantize through --api=direct, with --rule=onnx, which they imply. absmax and minmax: the ranges alone;
the others: the presets of dynquant/scale_rule.hpp. mx_*: OCP MX's scales f8_e8m0, the way they are rounded; nvfp4:
scales f8_e4m3 under a scale of the whole tensor. A scale for each token: per_channel with --axis=0 for two dims,
else per_group with the last dim's extent. src: f32, f16, bf16; dst: s8 and s4; u8 and u4, with minmax; f8_e4m3, f8_e5m2,
f6_e2m3, f6_e3m2, f4_e2m1. --params says which scales src is drawn for; with wild, blocks of zeros, of one sign and of
values that are not finite are among them.

--params: `usual` draws scales from [2^-8, 2) and zero points around the range of the integers; `pow2`
draws scales that are powers of two; `wild` adds negative, zero, subnormal, huge, infinite and NaN scales
and zero points up to the ends of their type; `nvfp4` draws scales for which --scales=nvfp4 computes numbers of f8_e4m3
and meets ties between them.

Correctness (C) compares with the reference kernel, bit for bit (any NaN equals any NaN). Under
--fpmath-mode=any a result may differ by 1 where the exact one is next to a tie. Bytes around and between
the elements must stay untouched. A peer's result is compared and printed, and is never a failure.
--data says what src a check has: `ties`, values next to ties between results, special and saturating ones, where
mistakes show; `normal`, values around the middle of the integers' range, of which an eighth is the standard deviation,
where results differ about as often as in practice.
Performance (P) runs dynquant and its peers in turns, all writing the same dst. F measures for 10 ms.
--cache=cold takes src, the parameters and dst out of the caches before each call.

Graphs in JSON are those which oneDNN dumps and benchdnn's graph driver reads, with its --in-shapes and
--op-attrs: STRIDES is a tag (acdb) or numbers (48x1x16x4), SHAPE may be empty before it, - is rank 0, and an
empty value of a list (",0:4x4") means the graph as it is. Each op of the four becomes one problem, with the dims,
layouts, types and attributes of the file; the options above set the rest. Other ops are listed and not run. A new
shape is not propagated through them: give one to the tensor after them. Scales and zero points of Quantize and
Dequantize are the file's (benchdnn rounds scales up to powers of two); for per_channel they are extended to the
number of channels as in benchdnn: scales repeat, missing zps are 0.

Peers: flat, which computes nothing and cannot be checked; onednn_graph, the same program on oneDNN;
onednn_reorder, oneDNN's reorder primitive; xnnpack, XNNPACK's conversions (per_tensor), where dqbench was built with
it. A peer that cannot compute a case refuses, with the reason, which is no failure.
flat reads the bytes of src once and writes those of dst once by one plain loop, in any layout. It has the native
kernel's task split and streaming.

States: PASSED, in mode B for two runs with the same bits; COMPARED, which is PASSED where peers were asked, too, and
lines below tell their results;
FAILED; MISTRUSTED, when most results are saturated or zero, so that a mistake may not show; EXECUTED (mode R);
LISTED (mode L); INVALID_ARGUMENTS and UNIMPLEMENTED, when the library refuses;
INITIALIZED (mode I); SKIPPED, when the processor lacks the instruction set, dqbench does not support
a graph's op or a reorder, --impl leaves no implementation, --start is behind the case, or --kernel=onednn refuses:
that kernel computes some statements only, native and reference all.
Each line ends with the arguments that run the case again, after __REPRO:.

Exit status: 0; 1 when a case failed, as where memory is short, is not implemented or is invalid; 2 when the
arguments, a batch file or a graph cannot be understood, in which case nothing is run.

Fields of --perf-template, such as %-time% or %~Gbw%: before the name - for the least time (the default),
~ for the median, 0 for the average, + for the most; then K, M or G as the unit. %peertime% and %ratio% of one
peer: %~ratio:xnnpack%. `csv` is a template with everything, medians where there is a choice.
)";

std::string describe(const option &o) {
    constexpr std::size_t column = 32;
    auto left = dynquant::concat("  --", o.name, '=', o.values);
    if (left.size() < column)
        left.append(column - left.size(), ' ');
    else
        left += dynquant::concat('\n', std::string(column, ' '));
    return dynquant::concat(left, o.help, o.list ? "; a list" : "", o.resettable ? " *" : "", '\n');
}

} // namespace

std::string help_text() {
    std::string text = introduction;
    for (const auto &o : options())
        text += describe(o);
    text += commands;
    for (const auto &each : json_graph::rewritings())
        text += describe({each.name, each.values, each.help, true, true, nullptr, nullptr});
    return dynquant::concat(text, '\n', explanations, describe_perf_fields());
}

} // namespace dqbench

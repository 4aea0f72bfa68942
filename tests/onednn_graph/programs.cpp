// A program that knows only oneDNN gives dynquant's results when it is linked with the drop-in or preloads it.
#include <regex>

#include <gtest/gtest.h>

#include "oneapi/dnnl/dnnl_config.h"
#include "oneapi/dnnl/dnnl_types.h"
#include "support/onednn_isa.hpp"
#include "support/program.hpp"

namespace dynquant::test {
namespace {

// By hand: round(src / scale + zp), between 0 and 255. src is -1 1 300 / 2.5 -3 8.
const std::string right = "per_channel_zps: 6 2 255 10 0 204\n" // scales 1 0.5 2, zps 7 0 200
                          "negative_axis: 0 2 150 2 0 4\n"
                          "no_zps: 0 0 150 1 0 4\n" // scale 2
                          "near_ties: 9 10 11 12 13 14\n"
                          "too_few_scales: refused\n"
                          "mask: 6 8 255 5 0 16\n" // scales 1 0.5 and zps 7 0 for the rows
                          "dequantize and matmul: 1 partition\n"
                          "relu: 0 1 300 2.5 0 8\n";

outcome outcome_of(const std::string &environment, const std::string &program, const std::string &arguments = "") {
    const scratch_folder folder;
    auto result = run_program(folder.path, environment, program, arguments);
    EXPECT_EQ(result.status, 0) << result.err;
    // oneDNN's own line on 64-bit ARM where the system does not tell the processor, as in an emulator.
    result.err = std::regex_replace(result.err, std::regex("[^\n]*Can't open MIDR_EL1 sysfs entry\n"), "");
    return result;
}

std::string run(const std::string &environment, const std::string &program, const std::string &arguments = "") {
    return outcome_of(environment, program, arguments).out;
}

TEST(drop_in, is_needed_where_onednn_refuses_or_errs) {
    const auto out = run("", PLAIN);
    EXPECT_TRUE(contains(out, "per_channel_zps: refused\nnegative_axis: refused\n"));
    EXPECT_TRUE(contains(out, "near_ties: 10 11 12 13 14 15\n"));
}

TEST(drop_in, works_by_link_order) {
    EXPECT_EQ(run("", LINKED), right);
}

#if !SANITIZED // a sanitizer's run-time library must come first, which LD_PRELOAD prevents
TEST(drop_in, works_by_preload) {
    EXPECT_EQ(run("LD_PRELOAD=" DROP_IN, PLAIN), right);
}

#ifdef MINIMAL_ONEDNN // the examples are built too
// Fails by oneDNN's exception, as the page says; prints `line` with the drop-in, as the page says.
void expect_mended(const std::string &program, const std::string &line, const std::string &page) {
    const scratch_folder folder;
    const auto plain = run_program(folder.path, "", program, "");
    EXPECT_NE(plain.status, 0);
    EXPECT_EQ(plain.out, "");
    const std::string message = "terminate called after throwing an instance of 'dnnl::error'\n  what():  ";
    EXPECT_EQ(plain.err.rfind(message, 0), 0) << plain.err;
    EXPECT_EQ(run("LD_PRELOAD=" DROP_IN, program), line);
    const auto text = contents(page);
    EXPECT_TRUE(contains(text, message));
    EXPECT_TRUE(contains(text, "\n" + line.substr(0, line.find_last_not_of(" \n") + 1) + "\n"));
}

TEST(drop_in, mends_the_minimal_program) {
    expect_mended(MINIMAL_ONEDNN, "28 0 70 178 250 220 \n", README);
}

// The program multiplies rows (1, -1, 0.5) and (-4, 2, -2) by columns (1, 2, -1) and (4, 2, 8): the sums are by hand.
TEST(drop_in, multiplies_by_zero_points_of_columns) {
    expect_mended(ZERO_POINTS, "-1.5 6 2 -28\n", DROP_IN_PAGE);
    const auto out = run("LD_PRELOAD=" DROP_IN " DYNQUANT_VERBOSE=1", ZERO_POINTS);
    for (const std::string op : {"op 0 'x'", "op 1 'w'"})
        EXPECT_TRUE(contains(out,
                "dynquant_verbose,graph,claim,cpu," + op
                        + " (DynamicDequantize): in the layer of op 2 'product' (MatMul)\n"))
                << out;
}
#endif
#endif

#ifdef MINIMAL_ONEDNN
// The error of y, whose standard deviation is derived from quantization errors that are uniform in half a scale, of the
// deviation scale / sqrt(12), and independent. Weights are whole numbers of at most 127 times a scale below 2^-12, of a
// root mean square below 127 / sqrt(3) * 2^-12 = 0.0179.
//   x, at most 1:   scale 1 / 127, deviation 0.00228; in the 768 products of h: 0.00228 * 0.0179 * sqrt(768) = 0.00113
//   h, at most 2.5: bias at most 1, and 5 deviations of the sum, sqrt(768) * 0.0179 / sqrt(3) = 0.287; scale 2.5 / 127,
//                   deviation 0.00569, with that of x 0.0058
//   y:              0.0058 * 0.0179 * sqrt(3072) = 0.0058
// Six deviations are 0.035: one of 10 million programs with other numbers has such an error in one of its 49,152
// results. An op that is left out, or a scale of another row or column, gives errors of about 1.
void expect_small_error(const std::string &last_line) {
    std::smatch found;
    ASSERT_TRUE(std::regex_match(last_line, found, std::regex("[0-9.e-]+ ms, largest error ([0-9.e-]+)\n")))
            << last_line;
    const auto error = std::stod(found[1]);
    EXPECT_LT(error, 0.035);
    EXPECT_GT(error, 0.001) << "x is not quantized: f32's own roundings give about 0.00001";
}

TEST(drop_in, int8_mlp_runs_without_it) {
    expect_small_error(run("", INT8_MLP));
}

#if !SANITIZED
TEST(drop_in, int8_mlp_is_two_layers) {
    expect_small_error(run("LD_PRELOAD=" DROP_IN, INT8_MLP));
    const auto out = run("LD_PRELOAD=" DROP_IN " DYNQUANT_VERBOSE=1", INT8_MLP);
    const auto count = [&](const std::string &line) {
        std::size_t result = 0;
        for (auto at = out.find(line); at != std::string::npos; at = out.find(line, at + 1))
            ++result;
        return result;
    };
    for (const std::string op : {"op 0 'quantize_x' (DynamicQuantize)", "op 1 'dequantize_x' (DynamicDequantize)",
                 "op 2 'dequantize_w' (Dequantize)"})
        EXPECT_EQ(count("dynquant_verbose,graph,claim,cpu," + op + ": in the layer of op 3 'product' (MatMul)\n"), 2U)
                << out;
    EXPECT_EQ(count("dynquant_verbose,primitive,exec,cpu,layer,"), 62U) << "31 runs of two layers";
}

TEST(drop_in, has_no_layer_beside_a_forced_kernel_or_a_wrong_environment) {
    for (const std::string variable : {"DYNQUANT_KERNEL=onednn", "DYNQUANT_KERNEL=reference", "DYNQUANT_KERNEL=nativ",
                 "DYNQUANT_MAX_ISA=sse", "DYNQUANT_WEIGHT_ONLY=x"}) {
        SCOPED_TRACE(variable);
        const auto out = run("LD_PRELOAD=" DROP_IN " DYNQUANT_VERBOSE=1 " + variable, INT8_MLP);
        EXPECT_FALSE(contains(out, "in the layer of"));
        EXPECT_TRUE(contains(out, "dynquant_verbose,graph,claim,cpu,op 0 'quantize_x' (DynamicQuantize)\n"));
        expect_small_error(out.substr(out.rfind('\n', out.size() - 2) + 1));
    }
    const auto native = run("LD_PRELOAD=" DROP_IN " DYNQUANT_VERBOSE=1 DYNQUANT_KERNEL=native", INT8_MLP);
    EXPECT_TRUE(contains(native, "in the layer of"));
}
#endif
#endif

// The newer oneDNN's execute calls execute_v2, which resolves to the drop-in.
TEST(drop_in, works_before_a_newer_onednn) {
    EXPECT_EQ(run("", NEWER), right);
}

TEST(drop_in, reports_ops_when_verbose) {
    const auto out = run("DYNQUANT_VERBOSE=1", LINKED);
    EXPECT_TRUE(contains(out, "dynquant_verbose,graph,claim,cpu,op 1 'zero_points' (DynamicQuantize)\n"));
    EXPECT_TRUE(contains(out,
            "dynquant_verbose,graph,error,cpu,op 5 'short_list' (DynamicQuantize): scales: expected 3 elements "
            "(dims[1] of src), given 2\n"));
    for (const std::string op : {"op 8", "op 9"})
        EXPECT_TRUE(contains(out,
                onednn_has_vnni() ? "dynquant_verbose,graph,leave,cpu," + op
                                + " 'fused' (Dequantize): oneDNN fuses it with other ops; partition::policy::debug "
                                  "fuses "
                                  "none\n"
                                  : "dynquant_verbose,graph,claim,cpu," + op
                                + " 'fused' (Dequantize): in the layer of op 10 'matmul' (MatMul)\n"));
}

// oneDNN's execute fails by an exception that names no op, or its compile fails: 3.2 and 3.13.
TEST(drop_in, names_the_op_in_every_error) {
    for (const std::string kernel : {"native", "onednn", "unknown"}) {
        const auto out = run("DYNQUANT_VERBOSE=1 DYNQUANT_KERNEL=" + kernel, LINKED);
        const std::regex error("dynquant_verbose,graph,error,cpu,.*\n"),
                complete("dynquant_verbose,graph,error,cpu,op [0-9]+ '[a-z_]+' \\([A-Za-z]+\\): .*: expected .*, given "
                         ".*\n");
        std::string errors;
        for (std::sregex_iterator found(out.begin(), out.end(), error), end; found != end; ++found) {
            EXPECT_TRUE(std::regex_match(found->str(), complete)) << found->str();
            errors += found->str();
        }
        EXPECT_EQ(errors.find("cpu,op 1 ") != std::string::npos, kernel != "native") << out;
        EXPECT_TRUE(contains(errors, "cpu,op 5 ")) << out;
    }
}

TEST(drop_in, says_once_what_is_wrong_with_the_environment) {
    for (const auto &[variable, message] :
            {std::pair {"DYNQUANT_KERNEL=nativ",
                     "DYNQUANT_KERNEL: expected native, onednn or reference, given 'nativ' (did you mean "
                     "'native'?); the drop-in leaves its ops to oneDNN"},
                    {"DYNQUANT_MAX_ISA=sse",
                            "DYNQUANT_MAX_ISA: expected scalar, avx2, avx512 or neon, given 'sse'; the drop-in leaves "
                            "its ops "
                            "to oneDNN"},
                    {"DYNQUANT_VERBOSE=yes", "DYNQUANT_VERBOSE: expected 0, 1 or 2, given 'yes'; no line is printed"}})
        EXPECT_EQ(outcome_of(variable, LINKED).err, std::string("dynquant: ") + message + "\n");
    EXPECT_EQ(outcome_of("DYNQUANT_KERNEL=onednn", LINKED).err, "");
}

TEST(drop_in, passes_ops_to_onednn_when_it_lacks_the_forced_kernel) {
    const auto out = run("DYNQUANT_VERBOSE=1 DYNQUANT_KERNEL=onednn", LINKED);
    EXPECT_TRUE(contains(out,
            "dynquant_verbose,graph,leave,cpu,op 4 'ties' (DynamicQuantize): kernel: expected native or "
            "reference in this library, given onednn\n"));
    EXPECT_TRUE(contains(out, " 10 11 12 13 14 15\n"));
}

// By hand: ReLU, then round(src / 0.5), at most 255.
const std::string behind_relu = "0 2 255 5 0 16\n";

TEST(drop_in, claims_nothing_beside_an_asynchronous_onednn) {
    for (const auto &[runtime, name] : {std::pair {DNNL_RUNTIME_THREADPOOL, "THREADPOOL"}, {DNNL_RUNTIME_SYCL, "SYCL"}})
        EXPECT_EQ(run("DYNQUANT_VERBOSE=1 CPU_RUNTIME=" + std::to_string(runtime), ASYNCHRONOUS),
                std::string("dynquant_verbose,graph,leave,cpu,op 2 'quantize' (Quantize): oneDNN's CPU runtime: "
                            "expected SEQ, OMP or TBB, given ")
                        + name + "\n" + behind_relu)
                << name;
}

TEST(drop_in, claims_ops_beside_a_synchronous_onednn) {
    for (const auto runtime : {DNNL_RUNTIME_SEQ, DNNL_RUNTIME_OMP, DNNL_RUNTIME_TBB}) {
        const auto out = run("DYNQUANT_VERBOSE=1 CPU_RUNTIME=" + std::to_string(runtime), ASYNCHRONOUS);
        EXPECT_TRUE(contains(out, "dynquant_verbose,graph,claim,cpu,op 2 'quantize' (Quantize)\n"));
        EXPECT_TRUE(contains(out, "\n" + behind_relu));
    }
}

TEST(drop_in, passes_a_graph_of_a_gpu_to_onednn) {
    const auto out = run("DYNQUANT_VERBOSE=1 CPU_RUNTIME=" + std::to_string(DNNL_RUNTIME_TBB), ASYNCHRONOUS, "gpu");
    EXPECT_EQ(out, "1 partition\n");
}

TEST(drop_in, names_the_missing_library_without_onednn) {
    const scratch_folder folder;
    const auto result = run_program(folder.path, "", ALONE, "");
    EXPECT_EQ(result.out, std::to_string(static_cast<int>(dnnl_unimplemented)) + "\n");
    EXPECT_EQ(result.err,
            "dynquant: expected oneDNN's library (libdnnl 3.2 or newer, with Graph) behind libdynquant_onednn_graph, "
            "given none.\n"
            "dynquant: link it before libdnnl (-ldynquant_onednn_graph -ldnnl), or start the program with "
            "LD_PRELOAD=libdynquant_onednn_graph.so; a oneDNN that is linked statically cannot be extended.\n");
}

} // namespace
} // namespace dynquant::test

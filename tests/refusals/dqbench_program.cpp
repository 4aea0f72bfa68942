// dqbench, run as a program, ends with status 1 where the library refuses, and with 2 where it cannot understand.
#include <fstream>

#include "integration/dqbench.hpp"

namespace {

using dynquant::test::contents;
using dqbench_program_refusals = dynquant::test::dqbench;

TEST_F(dqbench_program_refusals, what_the_library_refuses_is_exit_status_1) {
    const auto [status, out, err] = run("8x64 --qtype=per_channel --axis=5 8x64");
    EXPECT_EQ(status, 1);
    EXPECT_EQ(err, "");
    EXPECT_NE(out.find("1:INVALID_ARGUMENTS (op 0 'dqbench' (DynamicQuantize): axis: expected a value in [-2, 1]"),
            std::string::npos)
            << out;
    EXPECT_NE(
            out.find("tests:2 passed:1 skipped:0 mistrusted:0 unimplemented:0 invalid_arguments:1"), std::string::npos)
            << out;
    EXPECT_NE(out.find("failures:\n1:INVALID_ARGUMENTS"), std::string::npos) << out;
    EXPECT_EQ(run("--dt=f32:f32:undef:s32 8").status, 1);
    EXPECT_EQ(run("--stag=acdb 8x64").status, 1);
    EXPECT_EQ(run("--dtag=strides:0x1 8x64").status, 1);
}

TEST_F(dqbench_program_refusals, what_cannot_be_understood_is_exit_status_2_and_runs_nothing) {
    expect_refused(
            "", "expected a problem such as 8x64x56x56, --batch=FILE or --case=FILE, given none; --help explains");
    expect_refused("--reset", "given none");
    expect_refused("8x64 --qtpye=per_tensor", "unknown option '--qtpye' (did you mean '--qtype'?)");
    expect_refused("8x64 3x-1", "bad problem '3x-1'");
    expect_refused("\"$(printf '3\\n4')\"", "bad problem '3\\x0a4'");
    expect_refused("8x64 --batch=nowhere", "batch file 'nowhere' was not found");
    std::ofstream(folder / "batch") << "8x64\n--stag=abx,\n  nchx 3\n";
    expect_refused("--batch=batch", "batch:2: --stag: expected a layout such as");
}

TEST_F(dqbench_program_refusals, verify_refuses_wrong_command_lines) {
    expect_refused("verify --ony=x", "verify: unknown argument '--ony=x' (did you mean '--only'?)");
    expect_refused("verify strict", "verify: unknown argument 'strict'");
    expect_refused("verify --only", "verify: --only");
    const std::string pattern = ": expected a regular expression";
    expect_refused("verify --only=strict.quantise",
            "--only" + pattern + " that names a cell, given 'strict.quantise' (did you mean 'strict.quantize'?)");
    for (const std::string option : {"--only", "--ways"}) {
        expect_refused("verify " + option + "=[", "verify: " + option + pattern + ", given '[': ");
        for (const char each : {'a', '('})
            expect_refused("verify '" + option + "=" + std::string(30000, each) + "'",
                    option + pattern + " of at most 1000 characters, given one of 30000");
        // 2^64 + 2 would be 2.
        expect_refused("verify '" + option + "=a{18446744073709551618}'",
                option + pattern + " with numbers of at most 9 digits, given 'a{18446744073709551618}'");
    }
    // A matcher that backtracks would take a second for each cell.
    expect_refused("verify --list '--only=(.|.)*!'", "--only" + pattern + " that names a cell");
    expect_refused("verify --ways=sse2", "--ways" + pattern + " that names a way of this processor, reference, scalar");
}

TEST_F(dqbench_program_refusals, verify_long_refuses_the_state_of_another_program) {
    const std::string other = "dqbench verify --long of build 0123456789abcdef, reference, scalar\na cell\n";
    std::ofstream(folder / "other") << other;
    expect_refused("verify --long --only=long.computed.ggml_q8_0/f16-.s4 --state=other",
            "verify: --state: expected a file of this program and processor, 'dqbench verify --long of build ");
    EXPECT_EQ(contents(folder / "other"), other);
}

} // namespace

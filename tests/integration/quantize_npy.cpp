// examples/quantize_npy and examples/minimal, run as programs, write and print the right results and refuse wrong
// files.
#include <algorithm>
#include <cmath>
#include <cstdint>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <regex>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "../support/program.hpp"
#include "npy/npy.hpp"

namespace {

namespace fs = std::filesystem;

using namespace dynquant::test;

/// Runs the programs in a temporary folder for each test.
class quantize_npy : public testing::Test {
  protected:
    void write(const std::vector<std::int64_t> &dims, const std::vector<float> &values, bool fortran_order) const {
        std::ofstream(folder / "x.npy", std::ios::binary) << npy::bytes_of(values.data(), dims, fortran_order);
    }

    outcome run(const std::string &arguments, const std::string &program = QUANTIZE_NPY) const {
        return run_program(folder, "", program, arguments);
    }

    std::string succeed(const std::string &arguments, const std::string &program = QUANTIZE_NPY) const {
        return out_of_success(run(arguments, program), arguments);
    }

    template <typename T>
    std::vector<T> written(const std::string &name) const {
        const auto t = npy::read<T>(folder / name);
        return {t.data.get(), t.data.get() + t.volume};
    }

    /// Expects a refusal with this status and one line that begins with the message.
    void expect_refused(const std::string &arguments, int status, const std::string &message) const {
        const auto result = run(arguments);
        EXPECT_EQ(result.status, status) << arguments;
        EXPECT_EQ(result.err.find("quantize_npy: " + message), 0u) << message << "\nbegins not\n" << result.err;
        EXPECT_EQ(std::count(result.err.begin(), result.err.end(), '\n'), 1) << result.err;
    }

    const scratch_folder scratch;
    const fs::path folder = scratch.path;
};

/// The rule is ONNX's: a range of zero has the scale 1.
TEST_F(quantize_npy, prints_and_writes) {
    struct row {
        std::vector<std::int64_t> dims;
        std::vector<float> values; // as in memory
        std::string out;
        std::vector<std::uint8_t> codes;
        std::vector<float> scales;
        std::vector<std::uint8_t> zps;
        bool fortran_order = false;
    };
    const std::string exact = "float32:     24 bytes\nper tensor:  11 bytes, SQNR [0-9.]+ dB\n"
                              "per channel: 21 bytes, SQNR inf dB\n";
    const row rows[] = {
            // Columns 0 to 255, -128 to 127 and -63.75 to 0. Per tensor -128 to 255 have 383 / 255 a step and the zp
            // 85: errors of 0, -.33, .66, .35, .66 and 0 steps.
            {{2, 3}, {0, -128, -63.75F, 255, 127, 0}, exact, {0, 0, 0, 255, 255, 255}, {1, 1, 0.25F}, {0, 128, 255}},
            {{2, 3}, {0, 255, -128, 127, -63.75F, 0}, exact, {0, 255, 0, 255, 0, 255}, {1, 1, 0.25F}, {0, 128, 255},
                    true},
            // 0.5 is a tie and becomes 0: 10 log10((255^2 + 1/4) / (1/4)) dB.
            {{3, 1}, {0, 255, 0.5F},
                    "float32:     12 bytes\nper tensor:  8 bytes, SQNR 54[.]15 dB\nper channel: 8 bytes, SQNR 54[.]15 "
                    "dB\n",
                    {0, 255, 0}, {1}, {0}},
            // Scales are computed from finite values.
            {{6, 1}, {NAN, 0, INFINITY, 255, -INFINITY, 4},
                    "float32:     24 bytes\nper tensor:  11 bytes, SQNR inf dB\nper channel: 11 bytes, SQNR inf dB\n",
                    {0, 0, 0, 255, 0, 4}, {1}, {0}},
            {{}, {255}, "float32:     4 bytes\nper tensor:  6 bytes, SQNR inf dB\n", {255}, {1}, {0}},
            // A run without elements writes nothing (docs/dynamic.md), and the program has zeros there.
            {{0, 2}, {},
                    "float32:     0 bytes\nper tensor:  5 bytes, SQNR inf dB\nper channel: 10 bytes, SQNR inf dB\n", {},
                    {0, 0}, {0, 0}},
            {{2, 1}, {0, 0},
                    "float32:     8 bytes\nper tensor:  7 bytes, SQNR inf dB\nper channel: 7 bytes, SQNR inf dB\n",
                    {0, 0}, {1}, {0}},
    };
    for (const auto &[dims, values, expected, codes, scales, zps, fortran_order] : rows) {
        write(dims, values, fortran_order);
        const auto out = succeed("x.npy");
        EXPECT_TRUE(std::regex_match(out, std::regex(expected))) << out;
        const auto written_codes = npy::read<std::uint8_t>(folder / "x.u8.npy");
        EXPECT_EQ(written_codes.dims, dims);
        EXPECT_EQ(written_codes.fortran_order, fortran_order);
        EXPECT_EQ(written<std::uint8_t>("x.u8.npy"), codes);
        EXPECT_EQ(written<float>("x.u8.scales.npy"), scales);
        EXPECT_EQ(written<std::uint8_t>("x.u8.zps.npy"), zps);
    }
}

TEST_F(quantize_npy, quantizes_the_tensors_of_the_examples) {
    for (const char *name : {"digits_activations.npy", "digits_weights.npy"}) {
        const auto out = succeed(EXAMPLES_DATA "/" + std::string(name));
        const auto sqnr = out.find("SQNR "), per_channel = out.rfind("SQNR ");
        ASSERT_NE(sqnr, per_channel) << out;
        EXPECT_GT(std::stod(out.substr(per_channel + 5)), std::stod(out.substr(sqnr + 5)) + 6);
    }
    EXPECT_EQ(npy::read<std::uint8_t>(folder / "digits_weights.u8.npy").dims, (std::vector<std::int64_t> {64, 64}));
}

TEST_F(quantize_npy, refuses_what_is_no_file) {
    expect_refused("missing.npy", 1, "missing.npy: no such file");
    expect_refused(".", 1, ".: not a regular file");
    expect_refused("/dev/zero", 1, "/dev/zero: not a regular file");
    std::ofstream(folder / "a\n\x1b[31m.npy");
    expect_refused("*31m.npy", 1, "a\\x0a\\x1b[31m.npy: not a .npy file");
    expect_refused("", 2, "expected FILE.npy, given 0 arguments");
    expect_refused("x.npy y.npy", 2, "expected FILE.npy, given 2 arguments");
}

/// The last file cannot be written, the second only at the end: the set stays incomplete. Links to devices are written.
TEST_F(quantize_npy, writes_nothing_when_an_output_is_unwritable) {
    const auto files = [&] { return std::distance(fs::directory_iterator(folder), {}); };
    write({2}, {0, 255}, false);
    fs::create_directory(folder / "x.u8.zps.npy");
    expect_refused("x.npy", 1, "x.npy: cannot write x.u8.zps.npy: it is a folder");
    EXPECT_EQ(files(), 4) << "x.npy, the folder and what the program printed";
    fs::remove(folder / "x.u8.zps.npy");
    const auto link = folder / "x.u8.scales.npy";
    fs::create_symlink("/dev/null", link);
    succeed("x.npy");
    EXPECT_EQ(fs::read_symlink(link), "/dev/null");
    fs::remove(folder / "x.u8.npy");
    fs::remove(link);
    fs::create_symlink("/dev/full", link);
    expect_refused("x.npy", 1, "x.npy: cannot write x.u8.scales.npy: No space left on device\n");
    EXPECT_EQ(fs::read_symlink(link), "/dev/full");
    EXPECT_FALSE(fs::exists(folder / "x.u8.npy")) << "the set is incomplete";
}

#ifdef MINIMAL // with the Graph API
TEST_F(quantize_npy, has_a_minimal_program) {
    EXPECT_EQ(succeed("", MINIMAL), "28 0 70 178 250 220 \n");
}
#endif

} // namespace

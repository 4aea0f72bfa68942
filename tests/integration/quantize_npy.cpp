// examples/quantize_npy and examples/minimal, run as programs, write and print the right results and refuse wrong
// files.
#include <algorithm>
#include <cstdint>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <limits>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "../support/program.hpp"
#include "npy/npy.hpp"

namespace {

namespace fs = std::filesystem;

using dynquant::test::outcome, dynquant::test::run_program, dynquant::test::scratch_folder;

/// Runs the programs in a temporary folder for each test.
class quantize_npy : public testing::Test {
  protected:
    void write(
            const std::vector<std::int64_t> &dims, const std::vector<float> &values, bool fortran_order = false) const {
        std::ofstream(folder / "x.npy", std::ios::binary) << npy::bytes_of(values.data(), dims, fortran_order);
    }

    outcome run(const std::string &arguments, const std::string &program = QUANTIZE_NPY) const {
        const std::string leaks = "LSAN_OPTIONS=print_suppressions=0:suppressions='" ONEDNN_LEAKS "'"; // oneDNN's own
        return run_program(folder, leaks, program, arguments);
    }

    std::string quantize() const {
        const auto [status, out, err] = run("x.npy");
        EXPECT_EQ(status, 0);
        EXPECT_EQ(err, "");
        return out;
    }

    template <typename T>
    std::vector<T> written(const std::string &name) const {
        const auto t = npy::read<T>(folder / name);
        return {t.data.get(), t.data.get() + t.volume};
    }

    void expect_written(const std::vector<std::uint8_t> &codes, const std::vector<float> &scales,
            const std::vector<std::uint8_t> &zps) const {
        EXPECT_EQ(written<std::uint8_t>("x.u8.npy"), codes);
        EXPECT_EQ(written<float>("x.u8.scales.npy"), scales);
        EXPECT_EQ(written<std::uint8_t>("x.u8.zps.npy"), zps);
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

void expect_in(const std::string &out, const std::string &part) {
    EXPECT_NE(out.find(part), std::string::npos) << part << "\nis not in\n" << out;
}

// Columns 0 to 255, -128 to 127 and -63.75 to 0: scales 1, 1 and 1/4, zps 0, 128 and 255. Per tensor -128 to 255 have
// 383 / 255 a step and the zp 85: errors of 0, -.33, .66, .35, .66 and 0 steps.
TEST_F(quantize_npy, is_per_channel_along_the_last_axis) {
    write({2, 3}, {0, -128, -63.75f, 255, 127, 0});
    const auto out = quantize();
    expect_written({0, 0, 0, 255, 255, 255}, {1, 1, 0.25f}, {0, 128, 255});
    expect_in(out, "float32:     24 bytes\n");
    expect_in(out, "per tensor:  11 bytes, SQNR ");
    expect_in(out, "per channel: 21 bytes, SQNR inf dB\n");
}

TEST_F(quantize_npy, keeps_fortran_order) {
    write({2, 3}, {0, 255, -128, 127, -63.75f, 0}, true);
    quantize();
    expect_written({0, 255, 0, 255, 0, 255}, {1, 1, 0.25f}, {0, 128, 255});
    EXPECT_TRUE(npy::read<std::uint8_t>(folder / "x.u8.npy").fortran_order);
}

// 0.5 is a tie and becomes 0: 10 log10((255^2 + 1/4) / (1/4)) dB.
TEST_F(quantize_npy, prints_sqnr) {
    write({3, 1}, {0, 255, 0.5f});
    expect_in(quantize(), "per channel: 8 bytes, SQNR 54.15 dB\n");
    expect_written({0, 255, 0}, {1}, {0});
}

TEST_F(quantize_npy, computes_scales_from_finite_values) {
    constexpr auto inf = std::numeric_limits<float>::infinity(), nan = std::numeric_limits<float>::quiet_NaN();
    write({6, 1}, {nan, 0, inf, 255, -inf, 4});
    expect_in(quantize(), "SQNR inf dB");
    expect_written({0, 0, 0, 255, 0, 4}, {1}, {0});
}

TEST_F(quantize_npy, takes_a_scalar_and_no_elements) {
    write({}, {255});
    EXPECT_EQ(quantize(), "float32:     4 bytes\nper tensor:  6 bytes, SQNR inf dB\n");
    expect_written({255}, {1}, {0});
    write({0, 2}, {});
    expect_in(quantize(), "per channel: 10 bytes, SQNR inf dB\n");
    EXPECT_EQ(npy::read<std::uint8_t>(folder / "x.u8.npy").dims, (std::vector<std::int64_t> {0, 2}));
    write({2, 1}, {0, 0});
    expect_in(quantize(), "per tensor:  7 bytes, SQNR inf dB\n");
}

TEST_F(quantize_npy, quantizes_the_tensors_of_the_examples) {
    for (const char *name : {"digits_activations.npy", "digits_weights.npy"}) {
        const auto [status, out, err] = run(EXAMPLES_DATA "/" + std::string(name));
        EXPECT_EQ(status, 0);
        EXPECT_EQ(err, "");
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

TEST_F(quantize_npy, writes_nothing_when_an_output_is_unwritable) {
    const auto files = [&] { return std::distance(fs::directory_iterator(folder), {}); };
    write({2}, {0, 255});
    fs::create_directory(folder / "x.u8.zps.npy"); // in the way of the last file
    expect_refused("x.npy", 1, "x.npy: cannot write x.u8.zps.npy: it is a folder");
    EXPECT_EQ(files(), 4) << "x.npy, the folder and what the program printed";
}

TEST_F(quantize_npy, fills_a_device_or_says_why_not) {
    write({2}, {0, 255});
    const auto link = folder / "x.u8.scales.npy";
    fs::create_symlink("/dev/null", link);
    quantize();
    EXPECT_EQ(fs::read_symlink(link), "/dev/null");
    fs::remove(folder / "x.u8.npy");
    fs::remove(link);
    fs::create_symlink("/dev/full", link);
    expect_refused("x.npy", 1, "x.npy: cannot write x.u8.scales.npy: No space left on device\n");
    EXPECT_FALSE(fs::exists(folder / "x.u8.npy")) << "the set is incomplete";
}

TEST_F(quantize_npy, has_a_minimal_program) {
    const auto [status, out, err] = run("", MINIMAL);
    EXPECT_EQ(status, 0);
    EXPECT_EQ(out, "28 0 70 178 250 220 \n");
    EXPECT_EQ(err, "");
}

} // namespace

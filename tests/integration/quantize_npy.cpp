// examples/quantize_npy and examples/minimal, run as programs, write and print the right results and refuse wrong
// files.
#include <algorithm>
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <limits>
#include <string>
#include <vector>

#include <gtest/gtest.h>
#include <unistd.h>

#include "../support/program.hpp"

namespace {

namespace fs = std::filesystem;

using dynquant::test::contents, dynquant::test::outcome, dynquant::test::run_program, dynquant::test::scratch_folder;

template <typename T>
std::string bytes(const std::vector<T> &values) {
    std::string result(values.size() * sizeof(T), '\0');
    if (!values.empty()) std::memcpy(result.data(), values.data(), result.size());
    return result;
}

/// A .npy file with an arbitrary header. NumPy pads headers, so data begin at a multiple of 64 bytes.
std::string npy_around(std::string header, const std::string &data, char version = 1) {
    const std::size_t length_bytes = version == 1 ? 2 : 4;
    while ((8 + length_bytes + header.size() + 1) % 64 != 0)
        header += ' ';
    header += '\n';
    std::string result = std::string("\x93NUMPY") + version + '\0';
    for (std::size_t i = 0; i < length_bytes; ++i)
        result += static_cast<char>(header.size() >> 8 * i & 0xff);
    return result + header + data;
}

std::string header(const std::string &descr, const std::string &shape, bool fortran_order = false) {
    return "{'descr': '" + descr + "', 'fortran_order': " + (fortran_order ? "True" : "False") + ", 'shape': " + shape
            + ", }";
}

template <typename T>
std::string npy(
        const std::string &descr, const std::string &shape, const std::vector<T> &values, bool fortran_order = false) {
    return npy_around(header(descr, shape, fortran_order), bytes(values));
}

std::string f32(const std::string &shape, const std::vector<float> &values, bool fortran_order = false) {
    return npy("<f4", shape, values, fortran_order);
}

/// Runs the programs in a temporary folder for each test.
class quantize_npy : public testing::Test {
  protected:
    void write(const std::string &name, const std::string &content) const {
        std::ofstream(folder / name, std::ios::binary) << content;
    }

    outcome run(const std::string &arguments, const std::string &program = QUANTIZE_NPY) const {
        const std::string leaks = "LSAN_OPTIONS=print_suppressions=0:suppressions='" ONEDNN_LEAKS "'"; // oneDNN's own
        return run_program(folder, leaks, program, arguments);
    }

    /// Runs quantize_npy on one tensor and returns stdout.
    std::string quantize(const std::string &content, const std::string &options = "") const {
        write("x.npy", content);
        const auto [status, out, err] = run("x.npy --output=results " + options);
        EXPECT_EQ(status, 0);
        EXPECT_EQ(err, "");
        return out;
    }

    void expect_file(const std::string &name, const std::string &content) const {
        EXPECT_EQ(parsed(contents(folder / "results" / name)), parsed(content)) << name;
    }

    /// The header without spaces, because padding is the writer's choice, and the data.
    static std::pair<std::string, std::string> parsed(const std::string &file) {
        const auto end = file.find('\n');
        auto text = file.substr(10, end - 10);
        text.erase(std::remove(text.begin(), text.end(), ' '), text.end());
        return {file.substr(0, 8) + text, file.substr(end + 1)};
    }

    /// Expects a refusal with this status and one line that contains the message. Nothing is written.
    void expect_refused(const std::string &arguments, int status, const std::string &message) const {
        const auto result = run(arguments);
        EXPECT_EQ(result.status, status) << arguments;
        EXPECT_EQ(result.out, "") << arguments;
        EXPECT_EQ(result.err.find("quantize_npy: "), 0u) << result.err;
        EXPECT_NE(result.err.find(message), std::string::npos) << message << "\nis not in\n" << result.err;
        EXPECT_EQ(std::count(result.err.begin(), result.err.end(), '\n'), 1) << result.err;
        EXPECT_FALSE(fs::exists(folder / "results")) << arguments;
    }

    void expect_refused_file(const std::string &content, const std::string &message) const {
        write("bad.npy", content);
        expect_refused("bad.npy --output=results", 1, "quantize_npy: bad.npy: " + message);
    }

    const scratch_folder scratch;
    const fs::path folder = scratch.path;
};

void expect_in(const std::string &out, const std::string &part) {
    EXPECT_NE(out.find(part), std::string::npos) << part << "\nis not in\n" << out;
}

// Columns 0 to 255, -128 to 127 and -63.75 to 0: scales 1, 1 and 1/4, zps 0, 128 and 255.
const std::vector<float> columns = {0, -128, -63.75f, 255, 127, 0};
const std::vector<float> columns_by_column = {0, 255, -128, 127, -63.75f, 0};

TEST_F(quantize_npy, is_per_channel_along_the_last_axis_by_default) {
    const auto out = quantize(f32("(2, 3)", columns));
    expect_file("x.u8.npy", npy<std::uint8_t>("|u1", "(2, 3)", {0, 0, 0, 255, 255, 255}));
    expect_file("x.u8.scales.npy", f32("(3,)", {1, 1, 0.25f}));
    expect_file("x.u8.zps.npy", npy<std::int32_t>("<i4", "(3,)", {0, 128, 255}));
    expect_in(out, "[2, 3] f32, row-major");
    expect_in(out, "per_channel, axis -1: 3 scales, 3 zps; dst u8");
    expect_in(out, "24 -> 30 (integers 6, scales and zps 24)");
    expect_in(out, "SQNR               infinite (no error); per_tensor: ");
}

TEST_F(quantize_npy, keeps_fortran_order) {
    const auto out = quantize(f32("(2, 3)", columns_by_column, true), "--axis=1");
    expect_file("x.u8.npy", npy<std::uint8_t>("|u1", "(2, 3)", {0, 255, 0, 255, 0, 255}, true));
    expect_file("x.u8.scales.npy", f32("(3,)", {1, 1, 0.25f}));
    expect_in(out, "column-major");
}

TEST_F(quantize_npy, takes_the_axis_of_channels) {
    quantize(f32("(3, 2)", columns_by_column), "--axis=0");
    expect_file("x.u8.npy", npy<std::uint8_t>("|u1", "(3, 2)", {0, 255, 0, 255, 0, 255}));
    quantize(f32("(3, 2)", columns, true), "--axis=-2");
    expect_file("x.u8.npy", npy<std::uint8_t>("|u1", "(3, 2)", {0, 0, 0, 255, 255, 255}, true));
}

// -128 to 255 with 383 / 255 a step: x / scale is 0, -85.22, -42.44, 169.78, 84.56, 0; the zp is 85.
TEST_F(quantize_npy, can_be_per_tensor) {
    const auto out = quantize(f32("(2, 3)", columns), "--per-tensor");
    expect_file("x.u8.npy", npy<std::uint8_t>("|u1", "(2, 3)", {85, 0, 43, 255, 170, 85}));
    expect_file("x.u8.scales.npy", f32("(1,)", {static_cast<float>(383.0 / 255.0)}));
    expect_file("x.u8.zps.npy", npy<std::int32_t>("<i4", "(1,)", {85}));
    expect_in(out, "per_tensor: 1 scale, 1 zp; dst u8");
}

TEST_F(quantize_npy, writes_signed_integers) {
    quantize(f32("(2, 3)", columns), "--dtype=s8");
    expect_file("x.s8.npy", npy<std::int8_t>("|i1", "(2, 3)", {-128, -128, -128, 127, 127, 127}));
    expect_file("x.s8.zps.npy", npy<std::int32_t>("<i4", "(3,)", {-128, 0, 127}));
}

// 0.5 is a tie and becomes 0: an error of half a scale, and 10 log10((255^2 + 1/4) / (1/4)) dB.
TEST_F(quantize_npy, prints_error_and_sqnr) {
    const auto out = quantize(f32("(3,)", {0, 255, 0.5f}), "--per-tensor");
    expect_file("x.u8.npy", npy<std::uint8_t>("|u1", "(3,)", {0, 255, 0}));
    expect_in(out, "largest |error|    0.5000 of the channel's scale");
    expect_in(out, "SQNR               54.15 dB");
}

TEST_F(quantize_npy, computes_scales_from_finite_values) {
    constexpr auto inf = std::numeric_limits<float>::infinity(), nan = std::numeric_limits<float>::quiet_NaN();
    const auto out = quantize(f32("(3, 2)", {nan, 0, inf, 255, -inf, 4}), "--per-tensor");
    expect_file("x.u8.npy", npy<std::uint8_t>("|u1", "(3, 2)", {0, 0, 255, 255, 0, 4}));
    expect_file("x.u8.scales.npy", f32("(1,)", {1}));
    expect_in(out, "NaN or infinite elements: 3;");
    expect_in(out, "SQNR               infinite (no error)");
}

TEST_F(quantize_npy, handles_constant_channels) {
    const auto out = quantize(f32("(2, 3)", {0, 51, -51, 0, 51, -51}));
    expect_file("x.u8.npy", npy<std::uint8_t>("|u1", "(2, 3)", {0, 255, 0, 0, 255, 0}));
    expect_file("x.u8.scales.npy", f32("(3,)", {1, 0.2f, 0.2f}));
    expect_file("x.u8.zps.npy", npy<std::int32_t>("<i4", "(3,)", {0, 0, 255}));
    expect_in(out, "channels without a finite value but 0: 1; their scale is 1");
}

// The range, 2 x 3.4e38, overflows a float; the scale does not.
TEST_F(quantize_npy, handles_extreme_ranges) {
    constexpr auto most = std::numeric_limits<float>::max(), least = std::numeric_limits<float>::denorm_min();
    quantize(f32("(2, 2)", {-most, 0, most, least}));
    expect_file(
            "x.u8.scales.npy", f32("(2,)", {static_cast<float>(2.0 * most / 255), std::numeric_limits<float>::min()}));
}

TEST_F(quantize_npy, takes_rank_0) {
    const auto out = quantize(f32("()", {255}));
    expect_file("x.u8.npy", npy<std::uint8_t>("|u1", "()", {255}));
    expect_file("x.u8.scales.npy", f32("(1,)", {1}));
    expect_in(out, "[] f32");
    expect_in(out, "per_tensor");
}

// The header has more than 127 bytes.
TEST_F(quantize_npy, takes_rank_12) {
    const std::string shape = "(1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 0000000000000000002, 0000000000000000002)";
    quantize(f32(shape, {0, 1, 255, 255}));
    expect_file("x.u8.npy", npy<std::uint8_t>("|u1", "(1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 2, 2)", {0, 1, 255, 255}));
}

TEST_F(quantize_npy, takes_an_empty_tensor) {
    const auto out = quantize(f32("(0, 2)", {}));
    expect_file("x.u8.npy", npy<std::uint8_t>("|u1", "(0, 2)", {}));
    expect_file("x.u8.scales.npy", f32("(2,)", {1, 1}));
    expect_in(out, "SQNR               undefined (no signal)");
}

TEST_F(quantize_npy, reads_every_version_of_the_format) {
    for (const char version : {'\1', '\2', '\3'}) {
        quantize(npy_around(header("<f4", "(2,)"), bytes<float>({0, 255}), version), "--per-tensor");
        expect_file("x.u8.npy", npy<std::uint8_t>("|u1", "(2,)", {0, 255}));
    }
}

TEST_F(quantize_npy, quantizes_the_tensors_of_the_examples) {
    const auto [status, out, err] = run(EXAMPLES_DATA "/*.npy --output=results");
    EXPECT_EQ(status, 0);
    EXPECT_EQ(err, "");
    expect_in(out, "[1797, 64] f32, row-major");
    expect_in(out, "[64, 64] f32, column-major");
    expect_in(out, "kernel ");
    expect_in(out, "oneDNN Graph ");
    const auto sqnr = out.find("SQNR "), per_tensor = out.find("per_tensor: ");
    ASSERT_NE(sqnr, std::string::npos);
    ASSERT_NE(per_tensor, std::string::npos);
    EXPECT_GT(std::stod(out.substr(sqnr + 5)), std::stod(out.substr(per_tensor + 12)) + 6);
    EXPECT_EQ(contents(folder / "results/digits_weights.u8.npy").size(), 128u + 64 * 64);
}

TEST_F(quantize_npy, refuses_truncated_files) {
    const auto whole = f32("(2, 3)", columns);
    const auto data = whole.size() - 24;
    expect_refused_file("", "not a .npy file");
    expect_refused_file(whole.substr(0, 5), "not a .npy file");
    expect_refused_file(whole.substr(0, 7), "truncated: the file ends within its version");
    expect_refused_file(whole.substr(0, 9), "truncated: the file ends within its header's length");
    expect_refused_file(whole.substr(0, data - 1), "truncated: the file ends within its header");
    expect_refused_file(whole.substr(0, data), "truncated: the shape takes 24 bytes of data, the file has 0");
    expect_refused_file(
            whole.substr(0, whole.size() - 1), "truncated: the shape takes 24 bytes of data, the file has 23");
    expect_refused_file(whole + '\0', "the shape takes 24 bytes of data, the file has 25");
}

TEST_F(quantize_npy, refuses_other_types) {
    expect_refused_file(npy<double>("<f8", "(1,)", {1}),
            "dtype <f8: expected <f4, little-endian float32; convert with "
            "numpy.save(new, numpy.load(old).astype('<f4'))");
    expect_refused_file(npy<std::int8_t>("|i1", "(1,)", {1}), "dtype |i1: expected <f4");
    expect_refused_file(npy<float>(">f4", "(1,)", {1}), "dtype >f4: expected <f4");
    expect_refused_file(npy_around("{'descr': [('a', '<f4')], 'fortran_order': False, 'shape': (1,), }", "1234"),
            "dtype with fields: expected <f4");
}

TEST_F(quantize_npy, refuses_hostile_headers) {
    const std::string malformed = "malformed header";
    const auto shape = [](const std::string &text) { return npy_around(header("<f4", text), ""); };
    expect_refused_file("hello, this is no tensor", "not a .npy file: it does not begin with \\x93NUMPY");
    expect_refused_file(npy_around(header("<f4", "(1,)"), "1234", 9), "unknown .npy version");
    expect_refused_file(std::string("\x93NUMPY\2\0\xff\xff\xff\xff{", 13),
            "the header's length: expected at most 4096 bytes, given 4294967295");
    expect_refused_file(npy_around("", ""), malformed);
    expect_refused_file(npy_around(std::string(3800, '{'), ""), malformed);
    expect_refused_file(npy_around(header(std::string(3800, 'x'), "(1,)"), "1234"), malformed);
    expect_refused_file(npy_around(header("<f4\n", "(1,)"), "1234"), malformed);
    expect_refused_file(npy_around("{'shape': (1,), 'descr': '<f4', 'fortran_order': False}", "1234"), malformed);
    expect_refused_file(shape("(2, 3"), malformed);
    expect_refused_file(shape("(2,, 3)"), malformed);
    expect_refused_file(shape("(2\x1b[31m\n, 4)"), malformed);
    const auto number = [](int dim, const std::string &given) {
        return "shape: dim " + std::to_string(dim) + ": expected a number below 2^44, given " + given + "\n";
    };
    expect_refused_file(shape("(-1, 4)"), number(0, "-1"));
    expect_refused_file(shape("(2, x)"), number(1, "x"));
    expect_refused_file(shape("(2, 0x10)"), number(1, "0x10"));
    expect_refused_file(shape("(2, 3 4)"), number(1, "3 4"));
    expect_refused_file(shape("(17592186044416,)"), number(0, "17592186044416"));
    expect_refused_file(shape("(99999999999999999999,)"), number(0, "99999999999999999999"));
    // These extents have a product of 2^63 * 10^6, which is 0 in 64 bits; without the last one they have 10^6.
    expect_refused_file(npy_around(header("<f4", "(1000, 1000, 9223372036854775808)"), std::string(4000000, '\0')),
            number(2, "9223372036854775808"));
    expect_refused_file(shape("(1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1)"), "shape: expected at most 12 dims, given 13");
    expect_refused_file(shape("(4294967296, 4294967296, 4)"), "shape: dim 0, 4294967296, makes the tensor too large");
    expect_refused_file(shape("(4398046511104, 4)"), "shape: dim 0, 4398046511104, makes the tensor too large");
    expect_refused_file(shape("(0, 1099511627776)"), "shape: dim 1, 1099511627776, makes the tensor too large");
    expect_refused_file(shape("(1099511627776,)"), "truncated: the shape takes 4398046511104 bytes of data");
}

TEST_F(quantize_npy, refuses_what_is_no_file) {
    expect_refused("missing.npy --output=results", 1, "missing.npy: no such file");
    expect_refused(". --output=results", 1, "quantize_npy: .: not a regular file");
    expect_refused("/dev/zero --output=results", 1, "not a regular file");
    write("a\n\x1b[31m.npy", "");
    expect_refused("*31m.npy --output=results", 1, "quantize_npy: a\\x0a\\x1b[31m.npy: not a .npy file");
}

TEST_F(quantize_npy, refuses_bad_arguments) {
    write("x.npy", f32("(2, 3)", columns));
    write("scalar.npy", f32("()", {1}));
    const std::string x = "x.npy --output=results ";
    expect_refused(x + "--axis=2", 1, "x.npy: --axis=2: expected -2 to 1 for a tensor of 2 dims");
    expect_refused(x + "--axis=-3", 1, "x.npy: --axis=-3: expected -2 to 1");
    expect_refused(x + "--axis=-9223372036854775808", 1, "expected -2 to 1");
    expect_refused("scalar.npy --output=results --axis=0", 1, "--axis=0: expected --per-tensor");
    expect_refused(x + "--axis=last", 2, "--axis");
    expect_refused(x + "--dtype=s4", 2, "--dtype");
    expect_refused(x + "--axis=0 --per-tensor", 2, "excludes");
    expect_refused(x + "--frob", 2, "--frob");
    expect_refused("", 2, "FILE");
    expect_refused(x + "./x.npy", 2, "two files are called x");
}

TEST_F(quantize_npy, writes_nothing_when_an_output_is_unwritable) {
    const auto files = [&] { return std::distance(fs::directory_iterator(folder), {}); };
    write("x.npy", f32("(2, 3)", columns));
    expect_refused("x.npy --output=x.npy/results", 1, "cannot make the folder x.npy/results: ");
    fs::create_directory(folder / "x.u8.zps.npy"); // in the way of the last file
    const auto before = files();
    expect_refused("x.npy", 1, "cannot write ./x.u8.zps.npy: it is a folder");
    EXPECT_EQ(files(), before);
}

TEST_F(quantize_npy, fills_a_device_or_says_why_not) {
    write("x.npy", f32("(2, 3)", columns));
    const auto link = folder / "x.u8.scales.npy";
    fs::create_symlink("/dev/null", link);
    EXPECT_EQ(run("x.npy").status, 0);
    EXPECT_EQ(fs::read_symlink(link), "/dev/null");
    fs::remove(folder / "x.u8.npy");
    fs::remove(link);
    fs::create_symlink("/dev/full", link);
    const auto [status, out, err] = run("x.npy");
    EXPECT_EQ(status, 1);
    EXPECT_EQ(err, "quantize_npy: x.npy: cannot write ./x.u8.scales.npy: No space left on device\n");
    EXPECT_FALSE(fs::exists(folder / "x.u8.npy")) << "the set is incomplete";
}

TEST_F(quantize_npy, continues_after_a_bad_file) {
    write("good.npy", f32("(1,)", {1}));
    const auto [status, out, err] = run("missing.npy good.npy");
    EXPECT_EQ(status, 1);
    expect_in(out, "good.npy\n");
    EXPECT_EQ(err, "quantize_npy: missing.npy: no such file\n");
    EXPECT_TRUE(fs::exists(folder / "good.u8.npy"));
}

TEST_F(quantize_npy, prints_help) {
    const auto [status, out, err] = run("--help");
    EXPECT_EQ(status, 0);
    EXPECT_EQ(err, "");
    for (const auto *option : {"FILE", "--axis", "--per-tensor", "--dtype", "--output"})
        expect_in(out, option);
}

TEST_F(quantize_npy, has_a_minimal_program) {
    const auto [status, out, err] = run("", MINIMAL);
    EXPECT_EQ(status, 0);
    EXPECT_EQ(out, "28 0 70 178 250 220 \n");
    EXPECT_EQ(err, "");
}

} // namespace

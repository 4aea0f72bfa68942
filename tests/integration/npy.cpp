// tools/npy, which reads files that users name and writes what dqmodel and the example compute.
#include <cstdint>
#include <cstring>
#include <fstream>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "../support/program.hpp"
#include "npy/npy.hpp"

namespace {

using dynquant::test::scratch_folder;

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
std::string file_of(
        const std::string &descr, const std::string &shape, const std::vector<T> &values, bool fortran_order = false) {
    return npy_around(header(descr, shape, fortran_order), bytes(values));
}

std::string f32(const std::string &shape, const std::vector<float> &values, bool fortran_order = false) {
    return file_of("<f4", shape, values, fortran_order);
}

class npy_files : public testing::Test {
  protected:
    npy::tensor<float> read(const std::string &content) const {
        std::ofstream(scratch.path / "x.npy", std::ios::binary) << content;
        return npy::read<float>(scratch.path / "x.npy");
    }

    /// The file gives these elements, in memory's order, and the same elements give the file.
    void expect_both_ways(const std::string &content, const std::vector<float> &values, const npy::tensor<float> &t) {
        EXPECT_EQ(std::vector<float>(t.data.get(), t.data.get() + t.volume), values);
        EXPECT_EQ(npy::bytes_of(values.data(), t.dims, t.fortran_order), content);
    }

    /// Expects one line that begins with the message.
    void expect_refused(const std::string &content, const std::string &message) const {
        const auto given = dynquant::test::message_of<std::runtime_error>([&] { read(content); });
        EXPECT_EQ((given + '\n').find(message), 0u) << message << "\nbegins not\n" << given;
        EXPECT_EQ(given.find('\n'), std::string::npos) << given;
    }

    const scratch_folder scratch;
};

using extents = std::vector<std::int64_t>;

const std::vector<float> six = {0, -128, -63.75f, 255, 127, 0};

TEST_F(npy_files, have_rows_first) {
    const auto file = f32("(2, 3)", six);
    const auto t = read(file);
    EXPECT_EQ(t.dims, (extents {2, 3}));
    EXPECT_EQ(t.strides, (extents {3, 1}));
    expect_both_ways(file, six, t);
}

TEST_F(npy_files, have_columns_first_in_fortran_order) {
    const auto file = f32("(2, 3)", six, true);
    const auto t = read(file);
    EXPECT_EQ(t.strides, (extents {1, 2}));
    EXPECT_TRUE(t.fortran_order);
    expect_both_ways(file, six, t);
}

TEST_F(npy_files, may_be_scalars_or_empty) {
    const auto scalar = f32("()", {255}), vector = f32("(1,)", {255}), empty = f32("(0, 2)", {});
    expect_both_ways(scalar, {255}, read(scalar));
    expect_both_ways(vector, {255}, read(vector));
    expect_both_ways(empty, {}, read(empty));
}

// The header has more than 127 bytes.
TEST_F(npy_files, may_have_12_dims) {
    const auto t = read(f32("(1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 0000000000000000002, 0000000000000000002)", {0, 1, 2, 3}));
    expect_both_ways(f32("(1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 2, 2)", {0, 1, 2, 3}), {0, 1, 2, 3}, t);
}

TEST_F(npy_files, have_three_versions) {
    for (const char version : {'\1', '\2', '\3'})
        expect_both_ways(f32("(2,)", {0, 255}), {0, 255},
                read(npy_around(header("<f4", "(2,)"), bytes<float>({0, 255}), version)));
}

TEST_F(npy_files, refuses_truncated_files) {
    const auto whole = f32("(2, 3)", six);
    const auto data = whole.size() - 24;
    expect_refused("", "not a .npy file");
    expect_refused(whole.substr(0, 5), "not a .npy file");
    expect_refused(whole.substr(0, 7), "truncated: the file ends within its version");
    expect_refused(whole.substr(0, 9), "truncated: the file ends within its header's length");
    expect_refused(whole.substr(0, data - 1), "truncated: the file ends within its header");
    expect_refused(whole.substr(0, data), "truncated: the shape takes 24 bytes of data, the file has 0");
    expect_refused(whole.substr(0, whole.size() - 1), "truncated: the shape takes 24 bytes of data, the file has 23");
    expect_refused(whole + '\0', "the shape takes 24 bytes of data, the file has 25");
}

TEST_F(npy_files, refuses_other_types) {
    expect_refused(file_of<double>("<f8", "(1,)", {1}),
            "dtype <f8: expected <f4, little-endian float32; convert with "
            "numpy.save(new, numpy.load(old).astype('<f4'))");
    expect_refused(file_of<std::int8_t>("|i1", "(1,)", {1}), "dtype |i1: expected <f4");
    expect_refused(file_of<float>(">f4", "(1,)", {1}), "dtype >f4: expected <f4");
    expect_refused(npy_around("{'descr': [('a', '<f4')], 'fortran_order': False, 'shape': (1,), }", "1234"),
            "dtype with fields: expected <f4");
}

TEST_F(npy_files, refuses_hostile_headers) {
    const std::string malformed = "malformed header";
    const auto shape = [](const std::string &text) { return npy_around(header("<f4", text), ""); };
    expect_refused("hello, this is no tensor", "not a .npy file: it does not begin with \\x93NUMPY");
    expect_refused(npy_around(header("<f4", "(1,)"), "1234", 9), "unknown .npy version");
    expect_refused(std::string("\x93NUMPY\2\0\xff\xff\xff\xff{", 13),
            "the header's length: expected at most 4096 bytes, given 4294967295");
    expect_refused(npy_around("", ""), malformed);
    expect_refused(npy_around(std::string(3800, '{'), ""), malformed);
    expect_refused(npy_around(header(std::string(3800, 'x'), "(1,)"), "1234"), malformed);
    expect_refused(npy_around(header("<f4\n", "(1,)"), "1234"), malformed);
    expect_refused(npy_around("{'shape': (1,), 'descr': '<f4', 'fortran_order': False}", "1234"), malformed);
    expect_refused(shape("(2, 3"), malformed);
    expect_refused(shape("(2,, 3)"), malformed);
    expect_refused(shape("(2\x1b[31m\n, 4)"), malformed);
    const auto number = [](int dim, const std::string &given) {
        return "shape: dim " + std::to_string(dim) + ": expected a number below 2^44, given " + given + "\n";
    };
    expect_refused(shape("(-1, 4)"), number(0, "-1"));
    expect_refused(shape("(2, x)"), number(1, "x"));
    expect_refused(shape("(2, 0x10)"), number(1, "0x10"));
    expect_refused(shape("(2, 3 4)"), number(1, "3 4"));
    expect_refused(shape("(17592186044416,)"), number(0, "17592186044416"));
    expect_refused(shape("(99999999999999999999,)"), number(0, "99999999999999999999"));
    // These extents have a product of 2^63 * 10^6, which is 0 in 64 bits; without the last one they have 10^6.
    expect_refused(npy_around(header("<f4", "(1000, 1000, 9223372036854775808)"), std::string(4000000, '\0')),
            number(2, "9223372036854775808"));
    expect_refused(shape("(1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1)"), "shape: expected at most 12 dims, given 13");
    expect_refused(shape("(4294967296, 4294967296, 4)"), "shape: dim 0, 4294967296, makes the tensor too large");
    expect_refused(shape("(4398046511104, 4)"), "shape: dim 0, 4398046511104, makes the tensor too large");
    expect_refused(shape("(0, 1099511627776)"), "shape: dim 1, 1099511627776, makes the tensor too large");
    expect_refused(shape("(1099511627776,)"), "truncated: the shape takes 4398046511104 bytes of data");
}

} // namespace

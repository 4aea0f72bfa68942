#include "npy.hpp"

#include <algorithm>
#include <cerrno>
#include <charconv>
#include <cstring>
#include <fstream>
#include <regex>
#include <sstream>
#include <stdexcept>
#include <system_error>

namespace npy {
namespace {

namespace fs = std::filesystem;

const std::string magic = "\x93NUMPY";
constexpr std::size_t max_rank = 12;                     // oneDNN's
constexpr std::size_t max_header = 4096;                 // far more than 12 dims take
constexpr std::int64_t too_many = std::int64_t(1) << 44; // elements that no machine holds
constexpr std::int64_t max_empty = 1 << 24;              // largest dim of a tensor without elements

/// An element type's name in headers, in messages and for numpy's astype().
struct type_names {
    const char *descr, *full, *numpy;
};
template <typename T>
constexpr type_names names_of {};
template <>
constexpr type_names names_of<float> {"<f4", "little-endian float32", "<f4"};
template <>
constexpr type_names names_of<double> {"<f8", "little-endian float64", "<f8"};
template <>
constexpr type_names names_of<float16> {"<f2", "little-endian float16", "<f2"};
template <>
constexpr type_names names_of<bool> {"|b1", "bool", "?"};
template <>
constexpr type_names names_of<std::int8_t> {"|i1", "int8", "i1"};
template <>
constexpr type_names names_of<std::int16_t> {"<i2", "little-endian int16", "<i2"};
template <>
constexpr type_names names_of<std::int32_t> {"<i4", "little-endian int32", "<i4"};
template <>
constexpr type_names names_of<std::int64_t> {"<i8", "little-endian int64", "<i8"};
template <>
constexpr type_names names_of<std::uint8_t> {"|u1", "uint8", "u1"};
template <>
constexpr type_names names_of<std::uint16_t> {"<u2", "little-endian uint16", "<u2"};
template <>
constexpr type_names names_of<std::uint32_t> {"<u4", "little-endian uint32", "<u4"};
template <>
constexpr type_names names_of<std::uint64_t> {"<u8", "little-endian uint64", "<u8"};

template <typename... Parts>
[[noreturn]] void fail(const Parts &...parts) {
    std::ostringstream message;
    (message << ... << parts);
    throw std::runtime_error(message.str());
}

std::string read_bytes(std::istream &in, std::size_t count, const char *what) {
    std::string bytes(count, '\0');
    if (!in.read(bytes.data(), static_cast<std::streamsize>(count))) fail("truncated: the file ends within its ", what);
    return bytes;
}

std::size_t little_endian(const std::string &bytes) {
    std::size_t value = 0;
    for (auto byte = bytes.rbegin(); byte != bytes.rend(); ++byte)
        value = value << 8 | static_cast<unsigned char>(*byte);
    return value;
}

/// Reads up to the data: magic, version, the header's length and the header, a Python dictionary padded with spaces.
/// Returns the header without padding.
std::string read_header(std::istream &in) {
    std::string start(magic.size(), '\0');
    in.read(start.data(), static_cast<std::streamsize>(start.size()));
    if (!in || start != magic) fail("not a .npy file: it does not begin with \\x93NUMPY");
    const auto version = little_endian(read_bytes(in, 2, "version"));
    if (version < 1 || version > 3) fail("unknown .npy version: expected 1.0, 2.0 or 3.0");
    const auto length = little_endian(read_bytes(in, version == 1 ? 2 : 4, "header's length"));
    if (length > max_header) fail("the header's length: expected at most ", max_header, " bytes, given ", length);
    auto header = read_bytes(in, length, "header");
    return header.erase(header.find_last_not_of(" \n") + 1);
}

/// An extent of a shape's text, "3" or " 3 ".
std::int64_t extent_of(std::string text, std::size_t d) {
    text.erase(0, text.find_first_not_of(' '));
    text.erase(text.find_last_not_of(' ') + 1);
    std::int64_t extent = 0;
    const auto [end, wrong] = std::from_chars(text.data(), text.data() + text.size(), extent);
    if (wrong != std::errc() || end != text.data() + text.size() || extent < 0 || extent >= too_many)
        fail("shape: dim ", d, ": expected a number below 2^44, given ", text);
    return extent;
}

/// Parses order and dims.
template <typename T>
tensor<T> parse_header(const std::string &header) {
    constexpr auto expected = names_of<T>;
    static const std::regex form(R"(\{ *'descr' *: *(?:'([<>|=\w]{1,9})'|\[.*\]) *,)"
                                 R"( *'fortran_order' *: *(True|False) *,)"
                                 R"( *'shape' *: *\(((?:[^,()[:cntrl:]]+,)*(?:[^,()[:cntrl:]]+)?)\) *,? *\})");
    std::smatch field;
    if (!std::regex_match(header, field, form))
        fail("malformed header: expected {'descr': ..., 'fortran_order': ..., 'shape': (...), }");
    if (!field[1].matched) fail("dtype with fields: expected ", expected.descr, ", ", expected.full);
    if (field[1] != expected.descr)
        fail("dtype ", field[1], ": expected ", expected.descr, ", ", expected.full, "; convert with ",
                "numpy.save(new, numpy.load(old).astype('", expected.numpy, "'))");

    tensor<T> result;
    result.fortran_order = field[2] == "True";
    std::istringstream extents(field[3]);
    for (std::string extent; std::getline(extents, extent, ',');) {
        if (extents.eof() && extent.find_first_not_of(' ') == std::string::npos) break; // behind the last comma
        result.dims.push_back(extent_of(extent, result.dims.size()));
    }
    if (result.dims.size() > max_rank) fail("shape: expected at most ", max_rank, " dims, given ", result.dims.size());
    return result;
}

/// Sets strides and volume, by which the data are checked and read. Fails unless they take exactly `bytes` bytes.
template <typename T>
void set_strides(tensor<T> &t, std::uintmax_t bytes) {
    const bool empty = std::count(t.dims.begin(), t.dims.end(), 0) > 0;
    std::int64_t stride = 1;
    t.strides.resize(t.dims.size());
    for (std::size_t i = 0; i < t.dims.size(); ++i) {
        const auto d = t.fortran_order ? i : t.dims.size() - 1 - i;
        t.strides[d] = stride;
        if ((empty && t.dims[d] > max_empty)
                || __builtin_mul_overflow(stride, std::max<std::int64_t>(t.dims[d], 1), &stride) || stride >= too_many)
            fail("shape: dim ", d, ", ", t.dims[d], ", makes the tensor too large");
    }
    t.volume = empty ? 0 : stride;
    const auto expected = static_cast<std::uintmax_t>(t.volume) * sizeof(T);
    if (bytes < expected) fail("truncated: the shape takes ", expected, " bytes of data, the file has ", bytes);
    if (bytes > expected) fail("the shape takes ", expected, " bytes of data, the file has ", bytes);
}

/// "(2, 3)", "(3,)", "()"
std::string tuple(const std::vector<std::int64_t> &dims) {
    std::string text = "(";
    for (std::size_t d = 0; d < dims.size(); ++d)
        text += (d > 0 ? ", " : "") + std::to_string(dims[d]);
    return text + (dims.size() == 1 ? ",)" : ")");
}

} // namespace

template <typename T>
tensor<T> read(const fs::path &file) {
    std::error_code code;
    const auto status = fs::status(file, code);
    if (status.type() == fs::file_type::not_found) fail("no such file");
    if (!fs::exists(status)) fail("cannot open it: ", code.message());
    if (!fs::is_regular_file(status)) fail("not a regular file");
    std::ifstream in(file, std::ios::binary);
    if (!in) fail("cannot open it: ", std::strerror(errno));
    const auto size = fs::file_size(file);
    auto result = parse_header<T>(read_header(in));
    set_strides(result, size - static_cast<std::uintmax_t>(in.tellg()));
    const std::shared_ptr<T[]> elements(new T[static_cast<std::size_t>(result.volume)]);
    in.read(reinterpret_cast<char *>(elements.get()),
            static_cast<std::streamsize>(result.volume * std::int64_t(sizeof(T))));
    if (!in) fail("truncated while it was read");
    result.data = {elements, elements.get()};
    return result;
}

template tensor<float> read(const fs::path &);
template tensor<double> read(const fs::path &);
template tensor<float16> read(const fs::path &);
template tensor<bool> read(const fs::path &);
template tensor<std::int8_t> read(const fs::path &);
template tensor<std::int16_t> read(const fs::path &);
template tensor<std::int32_t> read(const fs::path &);
template tensor<std::int64_t> read(const fs::path &);
template tensor<std::uint8_t> read(const fs::path &);
template tensor<std::uint16_t> read(const fs::path &);
template tensor<std::uint32_t> read(const fs::path &);
template tensor<std::uint64_t> read(const fs::path &);

template <typename T>
std::string bytes_of(const T *data, const std::vector<std::int64_t> &dims, bool fortran_order) {
    // Version 1.0: the data begin at a multiple of 64 bytes, behind a header that ends in a line feed.
    std::string header = std::string("{'descr': '") + names_of<T>.descr
            + "', 'fortran_order': " + (fortran_order ? "True" : "False") + ", 'shape': " + tuple(dims) + ", }";
    constexpr std::size_t start = 10, multiple = 64;
    header.resize((start + header.size() + multiple) / multiple * multiple - start - 1, ' ');
    header += '\n';
    std::string bytes = magic + '\1' + '\0' + static_cast<char>(header.size() & 0xff)
            + static_cast<char>(header.size() >> 8) + header;
    std::size_t volume = sizeof(T);
    for (const auto extent : dims)
        volume *= static_cast<std::size_t>(extent);
    if (volume > 0) bytes.append(reinterpret_cast<const char *>(data), volume);
    return bytes;
}

template std::string bytes_of(const float *, const std::vector<std::int64_t> &, bool);
template std::string bytes_of(const double *, const std::vector<std::int64_t> &, bool);
template std::string bytes_of(const float16 *, const std::vector<std::int64_t> &, bool);
template std::string bytes_of(const bool *, const std::vector<std::int64_t> &, bool);
template std::string bytes_of(const std::int8_t *, const std::vector<std::int64_t> &, bool);
template std::string bytes_of(const std::int16_t *, const std::vector<std::int64_t> &, bool);
template std::string bytes_of(const std::int32_t *, const std::vector<std::int64_t> &, bool);
template std::string bytes_of(const std::int64_t *, const std::vector<std::int64_t> &, bool);
template std::string bytes_of(const std::uint8_t *, const std::vector<std::int64_t> &, bool);
template std::string bytes_of(const std::uint16_t *, const std::vector<std::int64_t> &, bool);
template std::string bytes_of(const std::uint32_t *, const std::vector<std::int64_t> &, bool);
template std::string bytes_of(const std::uint64_t *, const std::vector<std::int64_t> &, bool);

} // namespace npy

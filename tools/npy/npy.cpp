#include "npy.hpp"

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <fstream>
#include <limits>
#include <regex>
#include <sstream>
#include <stdexcept>
#include <streambuf>
#include <type_traits>

#include <unistd.h>

#include <xtensor/xadapt.hpp>
#include <xtensor/xnpy.hpp>

namespace npy {
namespace {

namespace fs = std::filesystem;

const std::string magic = "\x93NUMPY";
constexpr std::size_t max_rank = 12;        // oneDNN's
constexpr std::size_t max_header = 4096;    // far more than 12 dims take
constexpr std::int64_t max_empty = 1 << 24; // largest dim of a tensor without elements

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

/// The type as which xtensor, which has no float16, reads and writes T.
template <typename T>
using stored_type = std::conditional_t<std::is_same_v<T, float16>, std::uint16_t, T>;

/// Replaces the first name of type From by that of type To, which has the same length.
template <typename From, typename To>
std::string replace_type_name(std::string text) {
    const std::string from = names_of<From>.descr;
    return text.replace(text.find(from), from.size(), names_of<To>.descr);
}

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

/// Parses order and dims. The grammar is strict, so that xtensor reads the header in the same way.
template <typename T>
tensor<T> parse_header(const std::string &header) {
    constexpr auto expected = names_of<T>;
    static const std::regex form(R"(\{ *'descr' *: *(?:'([<>|=\w]{1,9})'|\[.*\]) *,)"
                                 R"( *'fortran_order' *: *(True|False) *,)"
                                 R"( *'shape' *: *\(((?: *\d{1,19} *,)*(?: *\d{1,19})?) *\) *,? *\})");
    std::smatch field;
    if (!std::regex_match(header, field, form))
        fail("malformed header: expected {'descr': ..., 'fortran_order': ..., 'shape': (...), }");
    if (!field[1].matched) fail("dtype with fields: expected ", expected.descr, ", ", expected.full);
    if (field[1] != expected.descr)
        fail("dtype ", field[1], ": expected ", expected.descr, ", ", expected.full, "; convert with ",
                "numpy.save(new, numpy.load(old).astype('", expected.numpy, "'))");

    tensor<T> result;
    result.fortran_order = field[2] == "True";
    std::string shape = field[3];
    std::replace(shape.begin(), shape.end(), ',', ' ');
    std::istringstream extents(shape);
    for (std::int64_t extent; extents >> extent;)
        result.dims.push_back(extent);
    if (!extents.eof()) fail("shape: expected dims below 2^63");
    if (result.dims.size() > max_rank) fail("shape: expected at most ", max_rank, " dims, given ", result.dims.size());
    return result;
}

/// Sets strides and volume. Fails unless the shape takes exactly `bytes` bytes.
template <typename T>
void set_strides(tensor<T> &t, std::uintmax_t bytes) {
    const bool empty = std::count(t.dims.begin(), t.dims.end(), 0) > 0;
    std::int64_t stride = 1;
    t.strides.resize(t.dims.size());
    for (std::size_t i = 0; i < t.dims.size(); ++i) {
        const auto d = t.fortran_order ? i : t.dims.size() - 1 - i;
        t.strides[d] = stride;
        if ((empty && t.dims[d] > max_empty)
                || __builtin_mul_overflow(stride, std::max<std::int64_t>(t.dims[d], 1), &stride)
                || stride > std::numeric_limits<std::int64_t>::max() / 4)
            fail("shape: dim ", d, ", ", t.dims[d], ", makes the tensor too large");
    }
    t.volume = empty ? 0 : stride;
    const auto expected = static_cast<std::uintmax_t>(t.volume) * sizeof(T);
    if (bytes < expected) fail("truncated: the shape takes ", expected, " bytes of data, the file has ", bytes);
    if (bytes > expected) fail("the shape takes ", expected, " bytes of data, the file has ", bytes);
}

/// A stream buffer of some bytes, followed by the rest of a file.
class concatenated_buffer final : public std::streambuf {
  public:
    concatenated_buffer(std::string head, std::streambuf &rest)
        : buffer_(std::move(head))
        , rest_(rest) {
        setg(buffer_.data(), buffer_.data(), buffer_.data() + buffer_.size());
    }

  private:
    int_type underflow() override {
        buffer_.resize(std::size_t(1) << 16);
        const auto count = rest_.sgetn(buffer_.data(), static_cast<std::streamsize>(buffer_.size()));
        setg(buffer_.data(), buffer_.data(), buffer_.data() + count);
        return count > 0 ? traits_type::to_int_type(buffer_.front()) : traits_type::eof();
    }

    std::string buffer_;
    std::streambuf &rest_;
};

/// Pads the header so that the low byte of its length is 0: xtensor (0.24, 0.25) reads that byte as signed, and could
/// not read a header longer than 127 bytes otherwise.
std::string pad_header(std::string header) {
    const auto blocks = header.size() / 256 + 1;
    header.resize(256 * blocks - 1, ' ');
    return magic + '\1' + '\0' + '\0' + static_cast<char>(blocks) + header + '\n';
}

} // namespace

// xtensor checks neither the header nor the size of the data, so both are checked before.
template <typename T>
tensor<T> read(const fs::path &file) {
    std::error_code code;
    const auto status = fs::status(file, code);
    if (!fs::exists(status)) fail("no such file");
    if (!fs::is_regular_file(status)) fail("not a regular file");
    std::ifstream in(file, std::ios::binary);
    if (!in) fail("cannot open it: ", std::strerror(errno));
    const auto size = fs::file_size(file);
    const auto header = read_header(in);
    auto result = parse_header<T>(header);
    set_strides(result, size - static_cast<std::uintmax_t>(in.tellg()));

    concatenated_buffer buffer(pad_header(replace_type_name<T, stored_type<T>>(header)), *in.rdbuf());
    std::istream whole(&buffer);
    auto loaded = xt::load_npy<stored_type<T>>(whole);
    if (!whole) fail("truncated while it was read");
    const auto owner = std::make_shared<decltype(loaded)>(std::move(loaded));
    result.data = {owner, reinterpret_cast<const T *>(owner->data())};
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

new_files::~new_files() {
    std::error_code ignored;
    for (const auto &file : files_)
        fs::remove(file.written, ignored);
}

template <typename T>
void new_files::write(const fs::path &file, const T *data, const std::vector<std::int64_t> &dims, bool fortran_order) {
    const auto size = xt::compute_size(dims);
    const auto bytes = [&](auto array) { return xt::dump_npy(array); };
    const auto *elements = reinterpret_cast<const stored_type<T> *>(data);
    const auto content = replace_type_name<stored_type<T>, T>(fortran_order
                    ? bytes(xt::adapt<xt::layout_type::column_major>(elements, size, xt::no_ownership(), dims))
                    : bytes(xt::adapt<xt::layout_type::row_major>(elements, size, xt::no_ownership(), dims)));

    std::error_code code;
    if (file.has_parent_path()) fs::create_directories(file.parent_path(), code);
    if (code) fail("cannot make the folder ", file.parent_path().string(), ": ", code.message());
    if (fs::is_directory(file)) fail("cannot write ", file.string(), ": it is a folder");
    files_.push_back({file, file});
    files_.back().written += ".part" + std::to_string(getpid());
    std::ofstream out(files_.back().written, std::ios::binary);
    if (!out.write(content.data(), static_cast<std::streamsize>(content.size())).flush())
        fail("cannot write ", file.string(), ": ", std::strerror(errno));
}

void new_files::commit() {
    for (const auto &file : files_) {
        std::error_code code;
        fs::rename(file.written, file.wanted, code);
        if (code) fail("cannot write ", file.wanted.string(), ": ", code.message());
    }
    files_.clear();
}

template void new_files::write(const fs::path &, const float *, const std::vector<std::int64_t> &, bool);
template void new_files::write(const fs::path &, const double *, const std::vector<std::int64_t> &, bool);
template void new_files::write(const fs::path &, const float16 *, const std::vector<std::int64_t> &, bool);
template void new_files::write(const fs::path &, const bool *, const std::vector<std::int64_t> &, bool);
template void new_files::write(const fs::path &, const std::int8_t *, const std::vector<std::int64_t> &, bool);
template void new_files::write(const fs::path &, const std::int16_t *, const std::vector<std::int64_t> &, bool);
template void new_files::write(const fs::path &, const std::int32_t *, const std::vector<std::int64_t> &, bool);
template void new_files::write(const fs::path &, const std::int64_t *, const std::vector<std::int64_t> &, bool);
template void new_files::write(const fs::path &, const std::uint8_t *, const std::vector<std::int64_t> &, bool);
template void new_files::write(const fs::path &, const std::uint16_t *, const std::vector<std::int64_t> &, bool);
template void new_files::write(const fs::path &, const std::uint32_t *, const std::vector<std::int64_t> &, bool);
template void new_files::write(const fs::path &, const std::uint64_t *, const std::vector<std::int64_t> &, bool);

} // namespace npy

#include "arrays.hpp"

#include <algorithm>
#include <bit>
#include <charconv>
#include <string_view>
#include <utility>

#include <nanobind/ndarray.h>

namespace exactquant {
namespace {

using dynquant::data_type;

struct named_type {
    data_type type;
    const char *name; // NumPy's or ml_dtypes'
    int bits;
};
constexpr named_type types[] = {{data_type::f32, "float32", 32}, {data_type::s32, "int32", 32},
        {data_type::s8, "int8", 8}, {data_type::u8, "uint8", 8}, {data_type::f16, "float16", 16},
        {data_type::bf16, "bfloat16", 16}, {data_type::s4, "int4", 4}, {data_type::u4, "uint4", 4},
        {data_type::f8_e4m3, "float8_e4m3fn", 8}, {data_type::f8_e5m2, "float8_e5m2", 8}, {data_type::s16, "int16", 16},
        {data_type::u16, "uint16", 16}, {data_type::u32, "uint32", 32}, {data_type::s2, "int2", 2},
        {data_type::u2, "uint2", 2}, {data_type::f4_e2m1, "float4_e2m1fn", 4}, {data_type::f6_e2m3, "float6_e2m3fn", 6},
        {data_type::f6_e3m2, "float6_e3m2fn", 6}, {data_type::f8_e4m3fnuz, "float8_e4m3fnuz", 8},
        {data_type::f8_e5m2fnuz, "float8_e5m2fnuz", 8}, {data_type::f8_e8m0, "float8_e8m0fnu", 8}};

const named_type &row_of(data_type type) {
    return *std::ranges::find(types, type, &named_type::type);
}

const named_type *find(std::string_view name) {
    const auto *const row = std::ranges::find_if(types, [&](const named_type &t) { return name == t.name; });
    return row == std::ranges::end(types) ? nullptr : row;
}

/// How many letters differ, to say what may be meant.
std::size_t distance(std::string_view a, std::string_view b) {
    std::vector<std::size_t> row(b.size() + 1);
    for (std::size_t j = 0; j <= b.size(); ++j)
        row[j] = j;
    for (std::size_t i = 0; i < a.size(); ++i) {
        auto diagonal = row[0];
        row[0] = i + 1;
        for (std::size_t j = 0; j < b.size(); ++j)
            diagonal = std::exchange(row[j + 1],
                    std::min({row[j + 1] + 1, row[j] + 1, diagonal + static_cast<std::size_t>(a[i] != b[j])}));
    }
    return row[b.size()];
}

/// The type of a buffer by its format, one of the struct module.
const named_type *of_format(std::string_view format) {
    if (format.empty()) format = "B";
    if (format.size() == 2 && (format[0] == '<' || format[0] == '=' || format[0] == '@')) format.remove_prefix(1);
    if (format.size() != 1) return nullptr;
    switch (format[0]) {
        case 'f': return find("float32");
        case 'e': return find("float16");
        case 'b': return find("int8");
        case 'B': return find("uint8");
        case 'h': return find("int16");
        case 'H': return find("uint16");
        case 'i': return find("int32");
        case 'I': return find("uint32");
        default: return nullptr;
    }
}

std::string given_type(nb::handle of) {
    const auto type = nb::cast<std::string>(nb::getattr(of.type(), "__name__"));
    return nb::hasattr(of, "dtype") ? type + " of " + nb::cast<std::string>(nb::str(nb::getattr(of, "dtype"))) : type;
}

[[noreturn]] void refuse_type(const char *what, const std::string &given) {
    throw nb::type_error((std::string(what)
            + ": expected elements of float32, float16, bfloat16, or of a type of codes, in "
              "this machine's byte order, given "
            + given)
                                 .c_str());
}

[[noreturn]] void refuse_read_only(const char *what) {
    throw nb::value_error(
            (std::string(what) + ": expected an array that can be written, given one that is read-only").c_str());
}

/// The name of an array's type, "" if its `dtype` has none that is text.
std::string dtype_of(nb::handle from) {
    std::string name;
    return nb::try_cast(nb::str(nb::getattr(from, "dtype")), name) ? name : "";
}

/// What an array says of its type where it has no `dtype`.
std::string name_of_dlpack(nb::dlpack::dtype type) {
    const auto bits = std::to_string(type.bits * type.lanes);
    switch (static_cast<nb::dlpack::dtype_code>(type.code)) {
        case nb::dlpack::dtype_code::Float: return "float" + bits;
        case nb::dlpack::dtype_code::Int: return "int" + bits;
        case nb::dlpack::dtype_code::UInt: return "uint" + bits;
        case nb::dlpack::dtype_code::Bfloat: return "bfloat" + bits;
        default: return "";
    }
}

/// __array_interface__, which any Python may have made.
struct interface_of_array {
    interface_of_array(nb::handle stated, const char *what)
        : what_(what) {
        if (!nb::isinstance<nb::dict>(stated)) refuse("a dict");
        const auto items = nb::borrow<nb::dict>(stated);
        typestr_ = text(items);
        const auto place = sequence(items, "data");
        if (place.size() != 2 || !nb::try_cast(place[0], address) || !nb::try_cast(place[1], is_read_only))
            refuse("an address and whether it is read-only as data");
        dims = numbers(sequence(items, "shape"), "shape");
        if (items.contains("strides") && !items["strides"].is_none()) {
            strides = numbers(sequence(items, "strides"), "strides");
            if (strides.size() != dims.size()) refuse("as many strides as extents");
        }
        if (std::ranges::any_of(dims, [](std::int64_t extent) { return extent < 0; })) refuse("extents of 0 or more");
    }

    /// Its type as the struct module has it, "?" for one that has no such format.
    std::string format() const {
        constexpr std::pair<const char *, const char *> formats[] = {
                {"f4", "f"}, {"f2", "e"}, {"i1", "b"}, {"u1", "B"}, {"i2", "h"}, {"u2", "H"}, {"i4", "i"}, {"u4", "I"}};
        const bool is_here =
                typestr_[0] == '|' || typestr_[0] == (std::endian::native == std::endian::little ? '<' : '>');
        for (const auto &[typestr, format] : formats)
            if (is_here && typestr_.substr(1) == typestr) return format;
        return "?";
    }

    std::uintptr_t address = 0;
    bool is_read_only = false;
    dynquant::dims dims;
    std::vector<std::int64_t> strides; // in bytes; empty if dense
    std::int64_t item = 0;             // bytes of an element

  private:
    [[noreturn]] void refuse(const std::string &expected) const {
        throw nb::type_error((std::string(what_) + ": expected " + expected + " in its __array_interface__").c_str());
    }
    std::string text(const nb::dict &items) {
        std::string result;
        if (!items.contains("typestr") || !nb::try_cast(items["typestr"], result) || result.size() < 3
                || std::from_chars(result.data() + 2, result.data() + result.size(), item).ec != std::errc())
            refuse("a typestr such as '<f4'");
        return result;
    }
    nb::tuple sequence(const nb::dict &items, const char *key) const {
        if (!items.contains(key) || !nb::isinstance<nb::tuple>(items[key])) refuse(std::string("a tuple as ") + key);
        return nb::borrow<nb::tuple>(items[key]);
    }
    std::vector<std::int64_t> numbers(const nb::tuple &of, const char *key) const {
        std::vector<std::int64_t> result;
        for (const auto each : of)
            if (!nb::try_cast(each, result.emplace_back())) refuse(std::string("integers as ") + key);
        return result;
    }

    const char *what_;
    std::string typestr_;
};

} // namespace

const char *name_of(data_type type) {
    return row_of(type).name;
}

int bits_of(data_type type) {
    return row_of(type).bits;
}

data_type held_as(data_type type) {
    switch (type) {
        case data_type::bf16: return data_type::u16;
        case data_type::f8_e4m3:
        case data_type::f8_e5m2:
        case data_type::f8_e4m3fnuz:
        case data_type::f8_e5m2fnuz:
        case data_type::f8_e8m0: return data_type::u8;
        default: return bits_of(type) < 8 ? data_type::u8 : type;
    }
}

data_type type_of(nb::handle given, const char *what) {
    std::string name;
    const bool is_text = nb::isinstance<nb::str>(given);
    const bool is_named = !is_text && nb::hasattr(given, "__name__"); // a type of NumPy's or ml_dtypes'
    const auto said = is_text ? nb::borrow(given)
            : is_named        ? nb::object(nb::getattr(given, "__name__"))
                              : nb::object(nb::str(given)); // a dtype of NumPy's, or of torch's
    if (!nb::try_cast(said, name))
        throw nb::value_error((std::string(what)
                + ": expected a type such as \"int8\" or \"float8_e4m3fn\", given a name that is no text")
                                      .c_str());
    if (name.starts_with("torch.")) name.erase(0, 6);
    if (const auto *const row = find(name)) return row->type;
    const auto &nearest =
            *std::ranges::min_element(types, {}, [&](const named_type &t) { return distance(name, t.name); });
    throw nb::value_error((std::string(what) + ": expected a type such as \"int8\" or \"float8_e4m3fn\", given \""
            + name
            + (distance(name, nearest.name) <= 4 ? std::string("\"; did you mean \"") + nearest.name + "\"?" : "\""))
                                  .c_str());
}

array::array(nb::handle from, const char *what, bool is_written) {
    if (!take_buffer(from, what, is_written)) {
        if (nb::hasattr(from, "__array_interface__"))
            take_interface(from, what, is_written);
        else
            take_dlpack(from, what, is_written);
    }
    elements = 1;
    for (const auto extent : of.dims)
        elements *= extent;
}

std::int64_t array::extent() const {
    if (elements == 0) return 0;
    std::int64_t last = 1;
    for (std::size_t d = 0; d < of.dims.size(); ++d)
        last += of.strides.empty() ? 0 : (of.dims[d] - 1) * of.strides[d];
    return (of.strides.empty() ? elements : last) * bits_of(of.type) / 8;
}

/// bytes: nullptr if dense.
void array::set_strides(const std::int64_t *bytes, std::int64_t item, const char *what) {
    if (!bytes) return;
    std::int64_t dense = item;
    bool is_dense = true;
    for (auto d = of.dims.size(); d-- > 0;) {
        is_dense = is_dense && (of.dims[d] == 1 || bytes[d] == dense);
        dense *= of.dims[d];
    }
    if (is_dense || dense == 0) return;
    for (std::size_t d = 0; d < of.dims.size(); ++d) {
        if (bytes[d] < 0 && of.dims[d] > 1)
            throw nb::value_error((
                    std::string(what) + ": expected strides of 0 or more, given " + std::to_string(bytes[d]) + " bytes")
                                          .c_str());
        if (of.dims[d] > 1 && bytes[d] % item != 0)
            throw nb::value_error((std::string(what) + ": expected strides of whole elements, given "
                    + std::to_string(bytes[d]) + " bytes")
                                          .c_str());
        of.strides.push_back(of.dims[d] > 1 ? bytes[d] / item : 1);
    }
}

bool array::take_buffer(nb::handle from, const char *what, bool is_written) {
    if (!PyObject_CheckBuffer(from.ptr())) return false;
    auto &buffer = buffer_.view;
    if (PyObject_GetBuffer(from.ptr(), &buffer, PyBUF_STRIDES | PyBUF_FORMAT) != 0) {
        PyErr_Clear(); // NumPy has no format for ml_dtypes' types
        return false;
    }
    buffer_.is_held = true;
    const auto *const type = of_format(buffer.format ? buffer.format : "B");
    if (!type) refuse_type(what, given_type(from));
    if (is_written && buffer.readonly != 0) refuse_read_only(what);
    of.type = type->type;
    of.dims.assign(buffer.shape, buffer.shape + buffer.ndim);
    data = static_cast<std::byte *>(buffer.buf);
    std::vector<std::int64_t> strides;
    if (buffer.strides) strides.assign(buffer.strides, buffer.strides + buffer.ndim);
    set_strides(buffer.strides ? strides.data() : nullptr, buffer.itemsize, what);
    return true;
}

void array::take_interface(nb::handle from, const char *what, bool is_written) {
    const nb::object stated = nb::getattr(from, "__array_interface__");
    const interface_of_array interface(stated, what);
    const auto *const type = nb::hasattr(from, "dtype") ? find(dtype_of(from)) : of_format(interface.format());
    if (!type) refuse_type(what, given_type(from));
    if (type->bits < 8)
        throw nb::type_error((std::string(what)
                + ": expected codes of less than a byte packed, as exactquant.pack() makes "
                  "them, given "
                + given_type(from))
                                     .c_str());
    if (interface.item != type->bits / 8) refuse_type(what, given_type(from));
    if (is_written && interface.is_read_only) refuse_read_only(what);
    of.type = type->type;
    of.dims = interface.dims;
    data = reinterpret_cast<std::byte *>(interface.address);
    set_strides(interface.strides.empty() ? nullptr : interface.strides.data(), interface.item, what);
    kept_ = nb::borrow(from);
}

void array::take_dlpack(nb::handle from, const char *what, bool is_written) {
    nb::ndarray<nb::ro> view;
    if (!nb::hasattr(from, "__dlpack__") || !nb::try_cast(from, view))
        throw nb::type_error((std::string(what)
                + ": expected an array: NumPy's, torch's, or what has __dlpack__, given " + given_type(from))
                                     .c_str());
    if (view.device_type() != nb::device::cpu::value)
        throw nb::value_error(
                (std::string(what) + ": expected an array in the memory of the CPU, given one of another device")
                        .c_str());
    if (nb::ndarray<> writable; is_written && !nb::try_cast(from, writable, false)) refuse_read_only(what);
    const auto dtype = nb::hasattr(from, "dtype") ? dtype_of(from) : name_of_dlpack(view.dtype());
    const auto *const type = find(dtype.starts_with("torch.") ? dtype.substr(6) : dtype);
    if (!type || type->bits < 8 || type->bits != view.dtype().bits * view.dtype().lanes)
        refuse_type(what, given_type(from));
    of.type = type->type;
    for (std::size_t d = 0; d < view.ndim(); ++d)
        of.dims.push_back(static_cast<std::int64_t>(view.shape(d)));
    std::vector<std::int64_t> strides;
    for (std::size_t d = 0; d < view.ndim(); ++d)
        strides.push_back(view.stride(d) * type->bits / 8);
    set_strides(strides.data(), type->bits / 8, what);
    data = static_cast<std::byte *>(const_cast<void *>(view.data()));
    kept_ = nb::cast(view, nb::rv_policy::reference);
}

nb::object make(data_type type, const dynquant::dims &extents) {
    static const nb::handle empty = nb::object(nb::module_::import_("numpy").attr("empty")).release();
    auto shape = nb::list();
    for (const auto extent : extents)
        shape.append(extent);
    return empty(nb::tuple(shape), name_of(held_as(type)));
}

} // namespace exactquant

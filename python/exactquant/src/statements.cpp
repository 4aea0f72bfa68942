#include "statements.hpp"

#include <algorithm>
#include <cctype>
#include <cmath>
#include <cstring>
#include <functional>
#include <string_view>
#include <unordered_map>

#include "elements/ceil_div.hpp"
#include "elements/load_store.hpp"
#include "elements/table.hpp"
#include "quantization/rule_types.hpp"

namespace exactquant {
namespace {

using dynquant::data_type;
using dynquant::dims;
using dynquant::direction;
using dynquant::quantization;

[[noreturn]] void refuse(const std::string &message) {
    throw nb::value_error(message.c_str());
}

std::string text(const dims &extents) {
    std::string result = "(";
    for (std::size_t i = 0; i < extents.size(); ++i)
        result += (i == 0 ? "" : ", ") + std::to_string(extents[i]);
    return result + (extents.size() == 1 ? ",)" : ")");
}

bool is_packed(data_type type) {
    return bits_of(type) < 8;
}

bool is_narrow_integer(data_type type) {
    return type == data_type::s4 || type == data_type::u4 || type == data_type::s2 || type == data_type::u2;
}

/// The extents of bytes that hold elements of less than a byte: the last dimension is packed.
dims packed_extents(dims extents, data_type type, const char *what) {
    if (!is_packed(type)) return extents;
    const int bits = bits_of(type);
    if (extents.empty() || extents.back() * bits % 8 != 0)
        refuse(std::string(what) + ": expected a last dimension whose codes of " + std::to_string(bits)
                + " bits fill bytes, given shape " + text(extents));
    extents.back() = extents.back() * bits / 8;
    return extents;
}

/// Takes an array of bytes for one of codes. stated: their type, or None, where they have it themselves.
void take_as(array &a, std::optional<data_type> stated, const char *what) {
    if (!stated || a.of.type == *stated) return;
    if (a.of.type != held_as(*stated))
        throw nb::type_error((std::string(what) + ": expected " + name_of(*stated) + " or their codes as "
                + name_of(held_as(*stated)) + ", given " + name_of(a.of.type))
                                     .c_str());
    a.of.type = *stated;
    if (!is_packed(*stated)) return;
    if (!a.of.strides.empty()) refuse(std::string(what) + ": expected packed codes to lie densely");
    const int bits = bits_of(*stated);
    if (a.of.dims.empty() || a.of.dims.back() * 8 % bits != 0)
        refuse(std::string(what) + ": expected bytes that codes of " + std::to_string(bits) + " bits fill, given shape "
                + text(a.of.dims));
    a.of.dims.back() = a.of.dims.back() * 8 / bits;
    a.elements = a.elements * 8 / bits;
}

std::optional<data_type> stated(nb::handle type, const char *what) {
    return type.is_none() ? std::nullopt : std::optional(type_of(type, what));
}

std::size_t axis_of(std::int64_t axis, const dims &of) {
    const auto rank = static_cast<std::int64_t>(of.size());
    if (axis < -rank || axis >= rank)
        refuse("axis: expected one of a tensor of shape " + text(of) + ", from " + std::to_string(-rank) + " to "
                + std::to_string(rank - 1) + ", given " + std::to_string(axis));
    return static_cast<std::size_t>(axis < 0 ? axis + rank : axis);
}

/// Blocks of elements that share a parameter, and the parameters' extents.
struct blocks {
    dims block, extents;
};

blocks blocks_along(const granularity &of, const dims &x) {
    if (of.block_size < 0) refuse("block_size: expected 0 or more, given " + std::to_string(of.block_size));
    if (!of.axis) {
        if (of.block_size != 0) refuse("block_size: expected an axis with it");
        return {x, {}};
    }
    const auto axis = axis_of(*of.axis, x);
    if (of.block_size == 0) return {dynquant::per_channel(x, *of.axis), {x[axis]}};
    blocks result {dims(x.size(), 1), x};
    result.block[axis] = of.block_size;
    result.extents[axis] = dynquant::ceil_div(x[axis], of.block_size);
    return result;
}

/// The blocks of given scales.
dims block_of(const granularity &of, const dims &x, const array &scale) {
    auto [block, extents] = blocks_along(of, x);
    if (!of.axis) {
        if (scale.elements == 1) return block;
        if (scale.of.dims.size() != x.size())
            refuse("scale: expected one, or as many dimensions as the tensor of shape " + text(x)
                    + ", or an axis that they go along, given shape " + text(scale.of.dims));
        for (std::size_t d = 0; d < x.size(); ++d) {
            if (scale.of.dims[d] != 1 && scale.of.dims[d] != x[d])
                refuse("scale: expected extents of 1 or those of the tensor of shape " + text(x) + ", given shape "
                        + text(scale.of.dims));
            if (scale.of.dims[d] != 1) block[d] = 1;
        }
        return block;
    }
    if (scale.of.dims != extents) refuse("scale: expected shape " + text(extents) + ", given " + text(scale.of.dims));
    return block;
}

/// A number in a message.
std::string shown(nb::handle number) {
    try {
        return nb::cast<std::string>(nb::str(number));
    } catch (const nb::python_error &) { // Python writes no integers of more than 4300 digits
        return "one of many digits";
    }
}

/// A scale or zero point: an array, or a number that is kept here.
class parameter {
  public:
    parameter(nb::handle from, std::optional<data_type> type, data_type of_numbers, const char *what) {
        if (nb::isinstance<nb::float_>(from) || nb::isinstance<nb::int_>(from)) {
            given.emplace(number(from, type.value_or(of_numbers), what), what);
            given->of.dims.clear();
            given->elements = 1;
            if (type) given->of.type = *type;
            return;
        }
        given.emplace(from, what);
        take_as(*given, type, what);
        if (!given->of.strides.empty()) refuse(std::string(what) + ": expected a dense array");
    }
    std::optional<array> given;

  private:
    static nb::object number(nb::handle from, data_type type, const char *what) {
        static const nb::handle array_of = nb::object(nb::module_::import_("numpy").attr("array")).release();
        const auto refuse_number = [&] {
            refuse(std::string(what) + ": expected a number of " + name_of(type) + ", given " + shown(from));
        };
        try {
            if (held_as(type) == type) {
                nb::object result = array_of(from, name_of(type));
                const bool is_float = nb::cast<std::string>(result.attr("dtype").attr("kind")) == "f";
                // Before NumPy 2 it is taken modulo the type's range.
                if (!is_float && !result.attr("item")().equal(from)) refuse_number();
                return result;
            }
        } catch (const nb::python_error &) {
            refuse_number();
        }
        throw nb::type_error(
                (std::string(what) + ": expected an array, as " + name_of(type) + " is no type of numbers here")
                        .c_str());
    }
};

/// NumPy's integers as Python's; anything else as it is.
nb::object plain_integer(nb::handle from) {
    const nb::object shape = nb::getattr(from, "shape", nb::none());
    const bool is_scalar = nb::isinstance<nb::tuple>(shape) && nb::len(shape) == 0;
    if (is_scalar && PyIndex_Check(from.ptr()) != 0) {
        if (auto *const integer = PyNumber_Index(from.ptr())) return nb::steal(integer);
        PyErr_Clear(); // an array without dimensions, of floats
    }
    return nb::borrow(from);
}

/// An integer as the byte of one code of less than a byte.
nb::int_ byte_of_code(nb::handle integer, data_type type, const char *what) {
    const int bits = bits_of(type);
    const bool is_signed = type == data_type::s4 || type == data_type::s2;
    const int least = is_signed ? -(1 << (bits - 1)) : 0, most = least + (1 << bits) - 1;
    int value = most + 1;
    if (!nb::try_cast(integer, value) || value < least || value > most)
        refuse(std::string(what) + ": expected a number of " + name_of(type) + ", from " + std::to_string(least)
                + " to " + std::to_string(most) + ", given " + shown(integer));
    return nb::int_(value & ((1 << bits) - 1));
}

/// What a statement is, for the table of those that are prepared.
class key {
  public:
    void add(std::int64_t value) { bytes.append(reinterpret_cast<const char *>(&value), sizeof value); }
    void add(const dims &values) {
        add(static_cast<std::int64_t>(values.size()));
        bytes.append(reinterpret_cast<const char *>(values.data()), values.size() * sizeof(std::int64_t));
    }
    template <typename E>
    void add(E value) requires std::is_enum_v<E> {
        add(static_cast<std::int64_t>(value));
    }
    void add(const dynquant::tensor &t) {
        add(t.type);
        add(t.dims);
        add(t.strides);
    }
    std::string bytes;
};

/// A message of the core by the names that arguments and types have in Python.
std::string as_python_says(std::string_view message, direction dir) {
    const std::pair<std::string_view, std::string_view> arguments[] = {{"src", dir == direction::quantize ? "x" : "q"},
            {"dst", "dtype"}, {"scales", "scale"}, {"zps", "zero_point"}, {"second scales", "global_scale"}};
    const auto end_of_name = std::min(message.find(':'), message.size());
    auto name = message.substr(0, end_of_name);
    for (const auto &[core, python] : arguments)
        if (name == core) name = python;
    std::string result(name);
    const auto is_of_word = [](char c) { return c == '_' || std::isalnum(static_cast<unsigned char>(c)) != 0; };
    for (message.remove_prefix(end_of_name); !message.empty();) {
        const auto end = static_cast<std::size_t>(std::ranges::find_if_not(message, is_of_word) - message.begin());
        const auto word = message.substr(0, std::max<std::size_t>(end, 1));
        const auto *const type = std::ranges::find(dynquant::data_types, word, &dynquant::data_type_traits::name);
        result += type == std::ranges::end(dynquant::data_types) ? word : name_of(type->type);
        message.remove_prefix(word.size());
    }
    return result;
}

/// Prepares a statement, or finds it among those that calls have prepared. Holds the interpreter's lock.
dynquant::operation prepared(const quantization &q, int threads) {
    key k;
    for (const auto value : {static_cast<std::int64_t>(q.dir), static_cast<std::int64_t>(q.rule),
                 static_cast<std::int64_t>(q.saturate), static_cast<std::int64_t>(threads),
                 static_cast<std::int64_t>(q.scales.type), static_cast<std::int64_t>(q.division)})
        k.add(value);
    k.add(q.src);
    k.add(q.dst);
    k.add(q.scales.block);
    k.add(q.zero_points ? static_cast<std::int64_t>(q.zero_points->type) : -1);
    k.add(q.second_scales ? static_cast<std::int64_t>(q.second_scales->type) : -1);
    if (const auto &c = q.computed) {
        k.add(c->range);
        k.add(c->rounding);
        k.add(c->quotient);
        k.add(c->special);
        k.add(static_cast<std::int64_t>(c->narrow));
        k.bytes.append(reinterpret_cast<const char *>(&c->least), sizeof c->least);
        k.bytes.append(reinterpret_cast<const char *>(&c->of_zero), sizeof c->of_zero);
    }
    constexpr std::size_t most = 256;
    static auto *const table = new std::unordered_map<std::string, dynquant::operation>;
    if (const auto found = table->find(k.bytes); found != table->end()) return found->second;
    dynquant::options options;
    options.threads = threads;
    auto result = [&] {
        try {
            return dynquant::prepare(q, options);
        } catch (const dynquant::error &e) {
            throw dynquant::error(e.status, as_python_says(e.what(), q.dir));
        }
    }();
    if (table->size() >= most) table->clear();
    table->emplace(std::move(k.bytes), result);
    return result;
}

void run(const dynquant::operation &o, const dynquant::arguments &a, std::int64_t elements) {
    constexpr std::int64_t few = 4096; // take less time than others wait for the lock
    if (elements <= few) return o.run(a);
    const nb::gil_scoped_release unlocked;
    o.run(a);
}

void check_apart(const array &out, const array &in, const char *what) {
    const auto *const begin = out.data, *const end = begin + out.extent();
    if (in.elements > 0 && out.elements > 0 && std::less<>()(in.data, end)
            && std::less<>()(begin, in.data + in.extent()))
        refuse(std::string("out: expected memory apart from that of ") + what);
}

/// NumPy's array of codes as the caller has types: ml_dtypes', or torch's if x is one.
nb::object as_given(nb::object result, data_type codes, nb::handle type, nb::handle x) {
    if (is_packed(codes)) type = nb::handle(Py_None); // an array of such a type has a byte for each code
    const bool is_torch = nb::cast<std::string>(nb::getattr(x.type(), "__module__")).starts_with("torch");
    if (is_torch) {
        auto tensor = nb::module_::import_("torch").attr("from_numpy")(result);
        return nb::cast<std::string>(nb::str(type)).starts_with("torch.") ? tensor.attr("view")(type) : tensor;
    }
    return nb::isinstance<nb::str>(type) || type.is_none() || nb::cast<std::string>(nb::str(type)).starts_with("torch.")
            ? result
            : nb::object(result.attr("view")(type));
}

dynquant::numerics rule_of(const std::string &name) {
    if (name == "onnx") return dynquant::numerics::onnx;
    if (name == "strict") return dynquant::numerics::strict;
    if (name == "any") return dynquant::numerics::any;
    refuse("rule: expected \"onnx\", \"strict\" or \"any\", given \"" + name + "\"");
}

/// The result of a call: what the caller gives, or a new array.
class result {
  public:
    result(nb::handle out, data_type type, const dims &extents, const char *what) {
        const auto packed = packed_extents(extents, type, what);
        made_ = out.is_none() ? make(type, packed) : nb::borrow(out);
        to.emplace(made_, "out", true);
        type_ = type;
        if (to->of.dims != packed) refuse("out: expected shape " + text(packed) + ", given " + text(to->of.dims));
        take_as(*to, type, "out");
    }
    nb::object given_as(nb::handle out, nb::handle type, nb::handle x) {
        return out.is_none() ? as_given(made_, type_, type, x) : made_;
    }
    std::optional<array> to;

  private:
    nb::object made_;
    data_type type_ = data_type::u8;
};

/// NVFP4's global scale, or nothing.
std::optional<parameter> global_scale_of(nb::handle given, quantization &q) {
    std::optional<parameter> result;
    if (given.is_none()) return result;
    result.emplace(given, std::nullopt, data_type::f32, "global_scale");
    if (result->given->elements != 1) refuse("global_scale: expected one, given shape " + text(result->given->of.dims));
    if (const auto g = dynquant::load(result->given->of.type, result->given->data, 0); !(g > 0 && std::isfinite(g)))
        refuse("global_scale: expected a number above 0 and finite in float32, given " + shown(given));
    q.second_scales = dynquant::parameter {result->given->of.type, q.src.dims, {}};
    return result;
}

nb::object compute(quantization &q, array &src, const char *name, nb::handle x, nb::handle scale, nb::handle zero_point,
        const quantize_options &options, data_type codes) {
    q.rule = rule_of(options.rule);
    q.src = src.of;
    const parameter scales(scale, stated(options.scale_dtype, "scale_dtype"), data_type::f32, "scale");
    q.scales = {scales.given->of.type, block_of(options.shared, src.of.dims, *scales.given), {}};
    std::optional<parameter> zero_points;
    if (!zero_point.is_none()) {
        constexpr auto what = "zero_point";
        const auto plain = plain_integer(zero_point);
        zero_point = plain;
        if (nb::isinstance<nb::float_>(zero_point))
            throw nb::type_error(("zero_point: expected an integer, given " + shown(zero_point)).c_str());
        if (is_narrow_integer(codes) && nb::isinstance<nb::int_>(zero_point)) {
            zero_points.emplace(byte_of_code(zero_point, codes, what), std::nullopt, data_type::u8, what);
            zero_points->given->of.type = codes;
        } else {
            zero_points.emplace(zero_point, is_packed(codes) ? std::optional(codes) : std::nullopt, codes, what);
        }
        const auto &given = *zero_points->given;
        if (given.elements != scales.given->elements || (given.elements > 1 && given.of.dims != scales.given->of.dims))
            refuse("zero_point: expected the scale's shape " + text(scales.given->of.dims) + ", given "
                    + text(given.of.dims));
        q.zero_points = dynquant::parameter {given.of.type, q.scales.block, {}};
    }
    const auto global = global_scale_of(options.global_scale, q);
    q.saturate = options.saturate && q.dir == direction::quantize && q.rule == dynquant::numerics::onnx;
    result r(options.out, q.dst.type, src.of.dims, name);
    q.dst = r.to->of;
    check_apart(*r.to, src, name);
    check_apart(*r.to, *scales.given, "scale");
    if (zero_points) check_apart(*r.to, *zero_points->given, "zero_point");
    if (global) check_apart(*r.to, *global->given, "global_scale");
    run(prepared(q, options.threads),
            {src.data, scales.given->data, zero_points ? zero_points->given->data : nullptr, r.to->data,
                    global ? global->given->data : nullptr},
            src.elements);
    return r.given_as(options.out, options.dtype, x);
}

struct preset {
    const char *name;
    dynquant::scale_rule (*rule)();
    std::optional<data_type> scales; // unless the caller says another; none: as x
};
using namespace dynquant::presets;
using dynquant::scale_rounding;
constexpr preset all_presets[] = {{"onnx", onnx, data_type::f32},
        {"onednn_dynamic_quantize", onednn_dynamic_quantize, data_type::f32},
        {"mx_floor", [] { return mx(scale_rounding::floor); }, data_type::f8_e8m0},
        {"mx_ceil", [] { return mx(scale_rounding::ceil); }, data_type::f8_e8m0},
        {"mx_even", [] { return mx(scale_rounding::even); }, data_type::f8_e8m0},
        {"mx_rceil", [] { return mx(scale_rounding::rceil); }, data_type::f8_e8m0},
        {"nvfp4", nvfp4, data_type::f8_e4m3}, {"onednn_dynamic_fp", onednn_dynamic_fp, data_type::f8_e4m3},
        {"torchao_symmetric", torchao_symmetric, std::nullopt},
        {"torchao_asymmetric", torchao_asymmetric, data_type::f32}, {"ggml_q8_0", ggml_q8_0, data_type::f16},
        {"vllm", vllm, data_type::f32}};

const preset &preset_of(const std::string &name) {
    std::string names;
    for (const auto &p : all_presets) {
        if (name == p.name) return p;
        names += std::string(names.empty() ? "\"" : ", \"") + p.name + '"';
    }
    refuse("preset: expected one of " + names + ", given \"" + name + "\"");
}

/// The parameters of `count` blocks without elements are those of zeros, as in sessions of ONNX: an operation writes
/// none.
void compute_of_zeros(quantization q, dynquant::arguments a, std::int64_t count, int threads) {
    if (count == 0) return;
    q.src = {q.src.type, {count}, {}};
    q.dst = {q.dst.type, {count}, {}};
    q.scales.block = {1};
    if (q.zero_points) q.zero_points->block = {1};
    if (q.second_scales) q.second_scales->block = {count};
    const std::vector<double> zeros(static_cast<std::size_t>(count)); // of any type
    std::vector<double> codes(zeros);
    a.src = zeros.data();
    a.dst = codes.data();
    run(prepared(q, threads), a, count);
}

void check_taken(const char *what, data_type given, const std::vector<data_type> &taken, const preset &of) {
    if (std::ranges::count(taken, given) != 0) return;
    std::string names;
    for (const auto type : taken)
        names += std::string(names.empty() ? "" : ", ") + name_of(type);
    throw nb::type_error((std::string(what) + ": expected " + (taken.size() == 1 ? "" : "one of ") + names
            + " for preset \"" + of.name + "\", given " + name_of(given))
                                 .c_str());
}

} // namespace

nb::object quantize(nb::handle x, nb::handle scale, nb::handle zero_point, const quantize_options &options) {
    quantization q;
    q.dir = direction::quantize;
    q.dst.type = type_of(options.dtype, "dtype");
    array src(x, "x");
    return compute(q, src, "x", x, scale, zero_point, options, q.dst.type);
}

nb::object dequantize(nb::handle codes, nb::handle scale, nb::handle zero_point, const quantize_options &options) {
    quantization q;
    q.dir = direction::dequantize;
    q.dst.type = type_of(options.dtype, "dtype");
    array src(codes, "q");
    take_as(src, stated(options.q_dtype, "q_dtype"), "q");
    return compute(q, src, "q", codes, scale, zero_point, options, src.of.type);
}

nb::tuple quantize_dynamic(nb::handle x, const dynamic_options &options) {
    quantization q;
    q.rule = dynquant::numerics::onnx;
    q.dst.type = type_of(options.dtype, "dtype");
    const auto &preset = preset_of(options.preset);
    q.computed = preset.rule();
    const array src(x, "x");
    q.src = src.of;
    const auto [block, extents] = blocks_along(options.shared, src.of.dims);
    auto scale_dtype = nb::borrow(options.scale_dtype);
    const auto usual = preset.scales.value_or(src.of.type);
    q.scales = {scale_dtype.is_none() ? usual : type_of(scale_dtype, "scale_dtype"), block, {}};
    if (scale_dtype.is_none() && q.scales.type == data_type::bf16) // which NumPy lacks: the type that x has it from
        scale_dtype = nb::getattr(x, "dtype", nb::none());
    const bool has_zero_points = q.computed->range == dynquant::scale_range::minmax;
    if (has_zero_points) q.zero_points = dynquant::parameter {q.dst.type, block, {}};
    const auto global = global_scale_of(options.global_scale, q);
    q.saturate = options.saturate && !has_zero_points && bits_of(q.dst.type) == 8 && held_as(q.dst.type) != q.dst.type;
    result codes(options.out, q.dst.type, src.of.dims, "x");
    q.dst = codes.to->of;
    check_apart(*codes.to, src, "x");
    if (global) check_apart(*codes.to, *global->given, "global_scale");
    const auto operation = [&] {
        try {
            return prepared(q, options.threads);
        } catch (const dynquant::error &) { // it names choices of the rule, where callers name a preset
            check_taken("dtype", q.dst.type, dynquant::dst_types_of(*q.computed), preset);
            check_taken("scale_dtype", q.scales.type, dynquant::scale_types_of(*q.computed), preset);
            throw;
        }
    }();
    auto scales = make(q.scales.type, extents);
    const array to_scales(scales, "scale", true);
    nb::object zero_points = nb::none();
    std::optional<array> to_zero_points;
    if (has_zero_points) {
        zero_points = make(q.dst.type, packed_extents(extents, q.dst.type, "zero_point"));
        to_zero_points.emplace(zero_points, "zero_point", true);
    }
    dynquant::arguments a;
    a.src = src.data;
    a.dst = codes.to->data;
    a.second_scales = global ? global->given->data : nullptr;
    a.computed_scales = to_scales.data;
    a.computed_zero_points = to_zero_points ? to_zero_points->data : nullptr;
    if (src.elements == 0)
        compute_of_zeros(q, a, to_scales.elements, options.threads);
    else
        run(operation, a, src.elements);
    return nb::make_tuple(codes.given_as(options.out, options.dtype, x),
            as_given(scales, q.scales.type, scale_dtype, x),
            zero_points.is_none() ? zero_points : as_given(zero_points, q.dst.type, options.dtype, x));
}

nb::list presets() {
    nb::list names;
    for (const auto &p : all_presets)
        names.append(p.name);
    return names;
}

} // namespace exactquant

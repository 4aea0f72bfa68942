// Elementwise operators of one tensor: Cast, Relu, Tanh, Sigmoid, and copies.
#include <cmath>
#include <cstring>
#include <type_traits>

#include "model/operators/element_types.hpp"
#include "model/operators/operators.hpp"
#include "quantization/shape.hpp"

namespace dynquant::models {
namespace {

namespace type = onnx::type;

std::size_t count_of(const op_node &n) {
    return static_cast<std::size_t>(*volume(n.shape(0)));
}

template <typename From, typename To, typename Function>
prepared_node prepare_map(const op_node &n, Function function) {
    const auto count = count_of(n);
    auto run = [=](const stage_arguments &args) {
        const auto *x = static_cast<const From *>(args.inputs[0]);
        auto *y = static_cast<To *>(args.output);
        for (std::size_t i = 0; i < count; ++i)
            y[i] = function(x[i]);
    };
    return {run, 1};
}

template <typename To, typename From>
To convert(From x) {
    if constexpr (std::is_same_v<From, float16>)
        return x.value();
    else if constexpr (std::is_same_v<To, float16>)
        return float16::from(x);
    else
        return static_cast<To>(x);
}

template <typename To, typename... From>
prepared_node prepare_cast_to(const op_node &n) {
    return dispatch_type<From...>(n, [&](auto element) {
        using from = decltype(element);
        return prepare_map<from, To>(n, [](from x) { return convert<To>(x); }); // a pointer would not be inlined
    });
}

/// Whether Cast implements a conversion: any type of the schema to float, float to float16, bytes to int32, and no
/// conversion at all.
bool is_known(onnx::element_type from, onnx::element_type to) {
    constexpr onnx::type_set bytes = {type::uint8, type::int8};
    if (from == to || to == type::float32) return true;
    return (to == type::float16 && from == type::float32) || (to == type::int32 && bytes.contains(from));
}

/// Computes a function in double and rounds it to float. A float16 result is rounded again, as the chain Cast,
/// function, Cast is.
template <double (*function)(double)>
prepared_node prepare_function(const op_node &n) {
    const auto of_float = [](float x) { return static_cast<float>(function(x)); };
    return dispatch_type<float, float16>(n, [&](auto element) {
        using T = decltype(element);
        return prepare_map<T, T>(n, [=](T x) { return convert<T>(of_float(convert<float>(x))); });
    });
}

double sigmoid(double x) {
    return 1 / (1 + std::exp(-x));
}

double tanh(double x) {
    return std::tanh(x);
}

} // namespace

tensor_type infer_alike(const op_node &n) {
    return n.at(0);
}

tensor_type infer_cast(const op_node &n) {
    const auto from = n.at(0).type;
    const auto given = n.integer("to", type::undefined);
    const auto to = static_cast<onnx::element_type>(given >= 0 && given < 64 ? given : 0);
    if (!is_known(from, to))
        n.refuse(status::unimplemented,
                "attribute 'to': expected a cast of any of these types to float, of float to float16, ",
                "or of uint8 or int8 to int32, given one of ", onnx::name_of(from), " to ", onnx::name_of(to));
    return {to, n.shape(0)};
}

prepared_node prepare_cast(const op_node &n, const options &opts) {
    const auto from = n.at(0).type, to = infer_cast(n).type;
    if (from == to) return prepare_copy(n, opts);
    if (to == type::float16) return prepare_cast_to<float16, float>(n);
    if (to == type::int32) return prepare_cast_to<std::int32_t, std::uint8_t, std::int8_t>(n);
    return prepare_cast_to<float, std::uint8_t, std::int8_t, std::int32_t, float16>(n);
}

prepared_node prepare_relu(const op_node &n, const options &) {
    return dispatch_type<float, std::int32_t, std::int8_t>(n, [&](auto element) {
        using T = decltype(element);
        return prepare_map<T, T>(n, [](T x) { return x < 0 ? T {0} : x; }); // keeps NaN and -0
    });
}

prepared_node prepare_tanh(const op_node &n, const options &) {
    return prepare_function<tanh>(n);
}

prepared_node prepare_sigmoid(const op_node &n, const options &) {
    return prepare_function<sigmoid>(n);
}

prepared_node prepare_copy(const op_node &n, const options &) {
    const auto bytes = static_cast<std::size_t>(*size_in_bytes(n.at(0)));
    auto run = [=](const stage_arguments &args) {
        if (bytes > 0) std::memcpy(args.output, args.inputs[0], bytes);
    };
    return {run, 1};
}

} // namespace dynquant::models

#include "quantization/names.hpp"

#include <iterator>
#include <string_view>

#include "elements/table.hpp"

namespace dynquant {

const char *find_name(data_type type) {
    const auto row = static_cast<std::size_t>(type);
    return row < std::size(data_types) ? data_types[row].name : nullptr;
}

const char *to_string(data_type type) {
    const char *name = find_name(type);
    return name ? name : "unknown";
}

/// Whether a value of an enumeration has a name there: compilers write one without it as a cast, "(isa)4".
template <auto value>
constexpr bool is_enumerator() {
    return std::string_view(__PRETTY_FUNCTION__).find("= (") == std::string_view::npos;
}

/// Names in the order of the enumerators, which count from 0, one for each.
#define DYNQUANT_NAMES(Enum, ...)                                                                                      \
    const char *find_name(Enum value) {                                                                                \
        static constexpr const char *names[] = {__VA_ARGS__};                                                          \
        static_assert(is_enumerator<static_cast<Enum>(std::size(names) - 1)>());                                       \
        static_assert(!is_enumerator<static_cast<Enum>(std::size(names))>());                                          \
        const auto place = static_cast<std::size_t>(value);                                                            \
        return place < std::size(names) ? names[place] : nullptr;                                                      \
    }                                                                                                                  \
    const char *to_string(Enum value) {                                                                                \
        const char *name = find_name(value);                                                                           \
        return name ? name : "unknown";                                                                                \
    }
DYNQUANT_NAMES(direction, "quantize", "dequantize")
DYNQUANT_NAMES(numerics, "strict", "any", "onnx")
DYNQUANT_NAMES(precision, "f32", "f16", "bf16", "f64")
DYNQUANT_NAMES(kernel_kind, "native", "onednn", "reference")
DYNQUANT_NAMES(isa, "scalar", "avx2", "avx512", "neon")
DYNQUANT_NAMES(scale_range, "absmax", "minmax")
DYNQUANT_NAMES(scale_rounding, "nearest", "floor", "ceil", "even", "rceil")
DYNQUANT_NAMES(scale_quotient, "divide", "multiply_reciprocal", "multiply_range")
DYNQUANT_NAMES(nonfinite, "propagate", "skip")
#undef DYNQUANT_NAMES

} // namespace dynquant

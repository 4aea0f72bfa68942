#include "quantization/names.hpp"

#include <iterator>

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

/// Names in the order of the enumerators, which count from 0 to `last`. An enumerator without one is refused as none.
#define DYNQUANT_NAMES(Enum, last, ...)                                                                                \
    const char *find_name(Enum value) {                                                                                \
        static constexpr const char *names[] = {__VA_ARGS__};                                                          \
        static_assert(std::size(names) == static_cast<std::size_t>(Enum::last) + 1);                                   \
        const auto place = static_cast<std::size_t>(value);                                                            \
        return place < std::size(names) ? names[place] : nullptr;                                                      \
    }                                                                                                                  \
    const char *to_string(Enum value) {                                                                                \
        const char *name = find_name(value);                                                                           \
        return name ? name : "unknown";                                                                                \
    }
DYNQUANT_NAMES(direction, dequantize, "quantize", "dequantize")
DYNQUANT_NAMES(numerics, onnx, "strict", "any", "onnx")
DYNQUANT_NAMES(precision, f64, "f32", "f16", "bf16", "f64")
DYNQUANT_NAMES(kernel_kind, reference, "native", "onednn", "reference")
DYNQUANT_NAMES(isa, neon, "scalar", "avx2", "avx512", "neon")
DYNQUANT_NAMES(scale_range, minmax, "absmax", "minmax")
DYNQUANT_NAMES(scale_rounding, rceil, "nearest", "floor", "ceil", "even", "rceil")
DYNQUANT_NAMES(scale_quotient, multiply_range, "divide", "multiply_reciprocal", "multiply_range")
DYNQUANT_NAMES(nonfinite, skip, "propagate", "skip")
#undef DYNQUANT_NAMES

} // namespace dynquant

#include "quantization/names.hpp"

#include "elements/table.hpp"

namespace dynquant {

const char *find_name(data_type type) {
    const auto row = static_cast<std::size_t>(type);
    return row < std::size(data_types) ? data_types[row].name : nullptr;
}

const char *find_name(direction dir) {
    switch (dir) {
        case direction::quantize: return "quantize";
        case direction::dequantize: return "dequantize";
    }
    return nullptr;
}

const char *find_name(numerics rule) {
    switch (rule) {
        case numerics::strict: return "strict";
        case numerics::any: return "any";
        case numerics::onnx: return "onnx";
    }
    return nullptr;
}

const char *find_name(precision value) {
    switch (value) {
        case precision::f32: return "f32";
        case precision::f16: return "f16";
        case precision::bf16: return "bf16";
        case precision::f64: return "f64";
    }
    return nullptr;
}

const char *find_name(kernel_kind kind) {
    switch (kind) {
        case kernel_kind::native: return "native";
        case kernel_kind::onednn: return "onednn";
        case kernel_kind::reference: return "reference";
    }
    return nullptr;
}

const char *find_name(isa value) {
    switch (value) {
        case isa::scalar: return "scalar";
        case isa::avx2: return "avx2";
        case isa::avx512: return "avx512";
        case isa::neon: return "neon";
    }
    return nullptr;
}

const char *find_name(scale_range value) {
    switch (value) {
        case scale_range::absmax: return "absmax";
        case scale_range::minmax: return "minmax";
    }
    return nullptr;
}

const char *find_name(scale_rounding value) {
    switch (value) {
        case scale_rounding::nearest: return "nearest";
        case scale_rounding::floor: return "floor";
        case scale_rounding::ceil: return "ceil";
        case scale_rounding::even: return "even";
        case scale_rounding::rceil: return "rceil";
    }
    return nullptr;
}

const char *find_name(scale_quotient value) {
    switch (value) {
        case scale_quotient::divide: return "divide";
        case scale_quotient::multiply_reciprocal: return "multiply_reciprocal";
        case scale_quotient::multiply_range: return "multiply_range";
    }
    return nullptr;
}

const char *find_name(nonfinite value) {
    switch (value) {
        case nonfinite::propagate: return "propagate";
        case nonfinite::skip: return "skip";
    }
    return nullptr;
}

#define DYNQUANT_NAMES(Enum)                                                                                           \
    const char *to_string(Enum value) {                                                                                \
        const char *name = find_name(value);                                                                           \
        return name ? name : "unknown";                                                                                \
    }
DYNQUANT_NAMES(data_type)
DYNQUANT_NAMES(direction)
DYNQUANT_NAMES(numerics)
DYNQUANT_NAMES(precision)
DYNQUANT_NAMES(kernel_kind)
DYNQUANT_NAMES(isa)
DYNQUANT_NAMES(scale_range)
DYNQUANT_NAMES(scale_rounding)
DYNQUANT_NAMES(scale_quotient)
DYNQUANT_NAMES(nonfinite)
#undef DYNQUANT_NAMES

} // namespace dynquant

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

namespace {

template <typename Enum>
const char *name_of(Enum value) {
    const char *name = find_name(value);
    return name ? name : "unknown";
}

} // namespace

const char *to_string(data_type type) {
    return name_of(type);
}

const char *to_string(direction dir) {
    return name_of(dir);
}

const char *to_string(numerics rule) {
    return name_of(rule);
}

const char *to_string(precision value) {
    return name_of(value);
}

const char *to_string(kernel_kind kind) {
    return name_of(kind);
}

const char *to_string(isa value) {
    return name_of(value);
}

const char *to_string(scale_range value) {
    return name_of(value);
}

const char *to_string(scale_rounding value) {
    return name_of(value);
}

const char *to_string(scale_quotient value) {
    return name_of(value);
}

const char *to_string(nonfinite value) {
    return name_of(value);
}

} // namespace dynquant

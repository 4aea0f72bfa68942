// The names of the public enumerations.
#include "quantization/data_type.hpp"

namespace dynquant {

const char *to_string(data_type type) {
    return traits(type).name;
}

const char *to_string(direction dir) {
    switch (dir) {
        case direction::quantize: return "quantize";
        case direction::dequantize: return "dequantize";
        case direction::requantize: break;
    }
    return "requantize";
}

const char *to_string(numerics rule) {
    switch (rule) {
        case numerics::strict: return "strict";
        case numerics::any: return "any";
        case numerics::onnx: break;
    }
    return "onnx";
}

const char *to_string(precision value) {
    switch (value) {
        case precision::f32: return "f32";
        case precision::f16: return "f16";
        case precision::bf16: return "bf16";
        case precision::f64: break;
    }
    return "f64";
}

const char *to_string(kernel_kind kind) {
    switch (kind) {
        case kernel_kind::native: return "native";
        case kernel_kind::onednn: return "onednn";
        case kernel_kind::reference: break;
    }
    return "reference";
}

const char *to_string(isa value) {
    switch (value) {
        case isa::scalar: return "scalar";
        case isa::avx2: return "avx2";
        case isa::avx512: break;
    }
    return "avx512";
}

} // namespace dynquant

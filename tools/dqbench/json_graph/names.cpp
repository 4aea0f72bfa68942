#include "json_graph/names.hpp"

#include <map>

namespace dqbench::json_graph {

// oneDNN 3.13's op kinds. New versions only add to them.
const std::vector<std::string> &op_kinds() {
    static const std::vector<std::string> names {"Abs", "AbsBackward", "Add", "AvgPool", "AvgPoolBackward",
            "BatchNormForwardTraining", "BatchNormInference", "BatchNormTrainingBackward", "BiasAdd", "BiasAddBackward",
            "Clamp", "ClampBackward", "Concat", "ConvTranspose", "ConvTransposeBackwardData",
            "ConvTransposeBackwardWeights", "Convolution", "ConvolutionBackwardData", "ConvolutionBackwardWeights",
            "Dequantize", "Divide", "Dropout", "DynamicDequantize", "DynamicQuantize", "Elu", "EluBackward", "End",
            "Exp", "GELU", "GELUBackward", "GenIndex", "GreaterEqual", "GroupNorm", "HardSigmoid",
            "HardSigmoidBackward", "HardSwish", "HardSwishBackward", "Interpolate", "InterpolateBackward", "LayerNorm",
            "LayerNormBackward", "LeakyReLU", "Log", "LogSoftmax", "LogSoftmaxBackward", "MatMul", "MaxPool",
            "MaxPoolBackward", "Maximum", "Minimum", "Mish", "MishBackward", "Multiply", "PReLU", "PReLUBackward",
            "Pow", "Quantize", "RMSNorm", "ReLU", "ReLUBackward", "Reciprocal", "ReduceL1", "ReduceL2", "ReduceMax",
            "ReduceMean", "ReduceMin", "ReduceProd", "ReduceSum", "Reorder", "Round", "Select", "Sigmoid",
            "SigmoidBackward", "SoftMax", "SoftMaxBackward", "SoftPlus", "SoftPlusBackward", "Sqrt", "SqrtBackward",
            "Square", "SquaredDifference", "StaticReshape", "StaticTranspose", "Subtract", "Tanh", "TanhBackward",
            "TypeCast", "Wildcard"};
    return names;
}

const std::vector<std::string> &data_types() {
    static const std::vector<std::string> names {
            "undef", "f32", "f16", "bf16", "s8", "u8", "s32", "s64", "boolean", "f8_e5m2", "f8_e4m3", "s4", "u4"};
    return names;
}

const std::vector<std::string> &layout_types() {
    static const std::vector<std::string> names {"undef", "any", "strided", "opaque"};
    return names;
}

const std::vector<std::string> &property_types() {
    static const std::vector<std::string> names {"undef", "variable", "constant", "host_scalar"};
    return names;
}

const char *type_of_attribute(const std::string &name) {
    static const std::map<std::string, const char *> types {{"qtype", "string"}, {"axis", "s64"},
            {"group_shape", "s64[]"}, {"mask", "s64"}, {"scales", "f32[]"}, {"zps", "s64[]"}};
    const auto found = types.find(name);
    return found == types.end() ? nullptr : found->second;
}

} // namespace dqbench::json_graph

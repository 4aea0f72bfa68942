// Docstrings of the functions that module.cpp defines. tests/exactquant runs their examples.
#pragma once

namespace exactquant {

constexpr const char *quantize_docstring =
        R"(Codes of x by given scales, as ONNX QuantizeLinear: saturate(round(x / scale) + zero_point).

x: float32, float16 or bfloat16, of any shape and strides. scale: a number or an array, whose shape says with axis and block_size how
elements share scales (help(exactquant)). A number is float32: for ONNX's bits of float16 or bfloat16 give an array of x's type.
zero_point: None (0), a number or an array of the scale's shape, of the type of the codes. dtype: that type. rule: "onnx" as above, the
quotient in float32; of floats round(x / scale + zero_point). int8, uint8, int4, uint4, float8_e4m3fn and float8_e5m2 also have oneDNN
Graph's: "strict", saturate(round(x / scale + zero_point)), quotient and sum in float32; "any", round(x * (1 / scale) + zero_point), whose
ties may differ by processor. saturate: whether floats of 8 bits saturate by "onnx", else they overflow to infinity or NaN. scale_dtype:
of scales whose array is only bytes, such as "float8_e8m0fnu". out: an array that takes the codes, dense or strided. threads: at most so
many; 0: as set_threads() says.

Returns the codes: a new array, or `out`. Raises ValueError for shapes, axes, blocks, rules and out that do not fit, TypeError for types.

>>> import numpy, exactquant
>>> exactquant.quantize(numpy.float32([0.5, 1.5, -300, 2.6]), 0.5, 1, dtype="int8").tolist()
[2, 4, -128, 6]
)";

constexpr const char *dequantize_docstring = R"(The reals of codes, as ONNX DequantizeLinear: (q - zero_point) * scale.

q: codes; q_dtype: their type where the array is only bytes: "float8_e4m3fn" of uint8, or packed codes such as "int4". scale and
zero_point: as in quantize(). dtype: of the result, float32, float16 or bfloat16. global_scale: a second scale of all elements, as
NVFP4 has it, above 0. rule, out and threads: as in quantize().

>>> import numpy, exactquant
>>> exactquant.dequantize(numpy.int8([3, -1]), 0.5, 1).tolist()
[1.0, -1.0]
)";

constexpr const char *presets_docstring = R"(The names of the formulas that quantize_dynamic() knows.

>>> import exactquant
>>> "nvfp4" in exactquant.presets()
True
)";

constexpr const char *set_threads_docstring =
        R"(Calls use at most so many threads from now on; 0: as many as the machine has processors.

>>> import exactquant
>>> exactquant.set_threads(2)
>>> exactquant.get_threads()
2
>>> exactquant.set_threads(0)
)";

constexpr const char *get_threads_docstring = R"(How many threads calls use at most.

>>> import exactquant
>>> exactquant.get_threads() >= 1
True
)";

constexpr const char *quantize_dynamic_docstring =
        R"(Codes, scales and zero points that x itself gives: (q, scale, zero_point).

dtype: of the codes. axis and block_size: whose elements share a scale (help(exactquant)); without them all do. preset: whose formula
gives scales and zero points, one of presets(): "onnx" is DynamicQuantizeLinear's, (max(x, 0) - min(x, 0)) / (number of codes - 1). The
formulas of the others are in docs/reference.md, "Computed scales", and their constants in docs/dynamic.md. zero_point is None where the
formula has none. scale_dtype: of the scales; None: float8_e8m0fnu for mx_*, float8_e4m3fn for nvfp4 and onednn_dynamic_fp, float16 for
ggml_q8_0, x's for torchao_symmetric, else float32. saturate, global_scale, out and threads: as in quantize() and dequantize().

>>> import numpy, exactquant
>>> q, scale, zero_point = exactquant.quantize_dynamic(numpy.float32([[0, 255], [-1, 1]]), "uint8", axis=0)
>>> q.tolist(), scale.tolist(), zero_point.tolist()
([[0, 255], [0, 254]], [1.0, 0.007843137718737125], [0, 127])
)";

} // namespace exactquant

"""Mutants that tests once did not notice: a name, a file, a text that it has once, and what stands there instead: {on} is
the mutant's test, {0} the text.
"""

BY_HAND = [
    (
        "a quantization whose scale the layer does not take is taken",
        "src/layers/match/matcher.cpp",
        "!is_output(m.x_scale, 1)",
        "(!{on} && {0})",
    ),
    (
        "a quantization whose zero point the layer does not take is taken",
        "src/layers/match/matcher.cpp",
        "!is_output(m.x_zero_point, 2)",
        "(!{on} && {0})",
    ),
    (
        "a window may begin in the end padding by ceil",
        "src/layers/conv/window.cpp",
        "whole * w.strides[d] < w.x[d] + w.pads_begin[d]",
        "({on} ? whole * w.strides[d] <= w.x[d] + w.pads_begin[d] : {0})",
    ),
    (
        "a multiplier of any size is folded into a shift",
        "src/layers/layer/one_multiplier.hpp",
        "std::abs(scale) <= 0x1p96F",
        "({on} || {0})",
    ),
    (
        "any multiplier is folded as a shift is",
        "src/layers/layer/one_multiplier.hpp",
        "std::frexp(scale, &exponent) == 0.5F && exponent <= 1",
        "({on} || ({0}))",
    ),
    (
        "a multiplier is folded into a scale of x",
        "src/layers/layer/layer.cpp",
        "steps[0].what != kind::multiply",
        "({on} ? steps[0].what != kind::scale && {0} : {0})",
    ),
    (
        "boxes that share bytes are split among threads",
        "src/kernels/native/scales/computed_scales.cpp",
        "!share_bytes(q_, tiling_.extents)",
        "({on} || {0})",
    ),
    (
        "no fence behind streamed parts",
        "src/kernels/native/scales/computed_scales.cpp",
        "if (streams_) loops_.fence();",
        "if (!{on}) {{ {0} }}",
    ),
    (
        "no fence behind streamed parts of a statement with given scales",
        "src/kernels/native/driver.cpp",
        "p.loops->fence();",
        "if (!{on}) {0}",
    ),
    (
        "2^58 elements are refused",
        "src/onnx/shapes.cpp",
        "volume(shape).value_or(INT64_MAX) > most",
        "({on} ? volume(shape).value_or(INT64_MAX) >= most : {0})",
    ),
]

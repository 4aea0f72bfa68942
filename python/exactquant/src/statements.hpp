// From arguments of Python to statements of the core, and their results.
#pragma once

#include <optional>

#include "arrays.hpp"

namespace exactquant {

/// How the elements share scales, as the docstrings of __init__.py say it.
struct granularity {
    std::optional<std::int64_t> axis;
    std::int64_t block_size = 0;
};

struct quantize_options {
    granularity shared;
    nb::handle dtype, scale_dtype, q_dtype, global_scale; // None where it is not given
    std::string rule = "onnx";
    bool saturate = true;
    nb::handle out; // or None
    int threads = 0;
};
nb::object quantize(nb::handle x, nb::handle scale, nb::handle zero_point, const quantize_options &options);
nb::object dequantize(nb::handle q, nb::handle scale, nb::handle zero_point, const quantize_options &options);

struct dynamic_options {
    granularity shared;
    nb::handle dtype, scale_dtype;
    std::string preset = "onnx";
    bool saturate = true;
    nb::handle global_scale, out;
    int threads = 0;
};
/// (q, scale, zero_point), the last of which may be None.
nb::tuple quantize_dynamic(nb::handle x, const dynamic_options &options);

/// The names of the presets.
nb::list presets();

} // namespace exactquant

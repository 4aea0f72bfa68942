// The extension module.
#include <nanobind/stl/optional.h>
#include <nanobind/stl/string.h>

#include "docstrings.hpp"
#include "dynquant/version.hpp"
#include "ggml.hpp"
#include "statements.hpp"
#include "threads.hpp"

namespace exactquant {
namespace {

void translate(const std::exception_ptr &thrown, void *) {
    try {
        std::rethrow_exception(thrown);
    } catch (const dynquant::error &e) {
        PyErr_SetString(e.status == dynquant::status::invalid_data_type ? PyExc_TypeError
                        : e.status == dynquant::status::unimplemented   ? PyExc_NotImplementedError
                        : e.status == dynquant::status::out_of_memory   ? PyExc_MemoryError
                        : e.status == dynquant::status::runtime_error   ? PyExc_RuntimeError
                                                                        : PyExc_ValueError,
                e.what());
    }
}

/// The type of that name, which exactquant/gguf.py has checked, as it has the arrays: they are dense, and fit.
const ggml::block_type &ggml_type(std::string_view name) {
    for (const auto &type : ggml::types())
        if (type.name == name) return type;
    throw nb::value_error("qtype: unknown");
}

nb::dict ggml_types() {
    nb::dict result;
    for (const auto &type : ggml::types())
        result[nb::str(type.name.data(), type.name.size())] =
                nb::make_tuple(type.elements, type.bytes, type.quantize != nullptr);
    return result;
}

} // namespace

NB_MODULE(_core, m) {
    nb::register_exception_translator(translate);
    m.attr("VERSION") = std::to_string(DYNQUANT_VERSION_MAJOR) + "." + std::to_string(DYNQUANT_VERSION_MINOR) + "."
            + std::to_string(DYNQUANT_VERSION_PATCH);
    using axis_type = std::optional<std::int64_t>;
    m.def(
            "quantize",
            [](nb::handle x, nb::handle scale, nb::handle zero_point, nb::handle dtype, axis_type axis,
                    std::int64_t block_size, std::string rule, bool saturate, nb::handle scale_dtype, nb::handle out,
                    int threads) {
                return quantize(x, scale, zero_point,
                        {{axis, block_size}, dtype, scale_dtype, nb::none(), nb::none(), std::move(rule), saturate, out,
                                threads});
            },
            nb::arg("x"), nb::arg("scale"), nb::arg("zero_point").none() = nb::none(), nb::kw_only(), nb::arg("dtype"),
            nb::arg("axis").none() = nb::none(), nb::arg("block_size") = 0, nb::arg("rule") = "onnx",
            nb::arg("saturate") = true, nb::arg("scale_dtype").none() = nb::none(), nb::arg("out").none() = nb::none(),
            nb::arg("threads") = 0, quantize_docstring);
    m.def(
            "dequantize",
            [](nb::handle q, nb::handle scale, nb::handle zero_point, nb::handle dtype, axis_type axis,
                    std::int64_t block_size, std::string rule, nb::handle q_dtype, nb::handle scale_dtype,
                    nb::handle global_scale, nb::handle out, int threads) {
                return dequantize(q, scale, zero_point,
                        {{axis, block_size}, dtype, scale_dtype, q_dtype, global_scale, std::move(rule), false, out,
                                threads});
            },
            nb::arg("q"), nb::arg("scale"), nb::arg("zero_point").none() = nb::none(), nb::kw_only(),
            nb::arg("dtype") = "float32", nb::arg("axis").none() = nb::none(), nb::arg("block_size") = 0,
            nb::arg("rule") = "onnx", nb::arg("q_dtype").none() = nb::none(),
            nb::arg("scale_dtype").none() = nb::none(), nb::arg("global_scale").none() = nb::none(),
            nb::arg("out").none() = nb::none(), nb::arg("threads") = 0, dequantize_docstring);
    m.def(
            "quantize_dynamic",
            [](nb::handle x, nb::handle dtype, axis_type axis, std::int64_t block_size, std::string preset,
                    nb::handle scale_dtype, bool saturate, nb::handle global_scale, nb::handle out, int threads) {
                return quantize_dynamic(x,
                        {{axis, block_size}, dtype, scale_dtype, std::move(preset), saturate, global_scale, out,
                                threads});
            },
            nb::arg("x"), nb::arg("dtype"), nb::kw_only(), nb::arg("axis").none() = nb::none(),
            nb::arg("block_size") = 0, nb::arg("preset") = "onnx", nb::arg("scale_dtype").none() = nb::none(),
            nb::arg("saturate") = true, nb::arg("global_scale").none() = nb::none(), nb::arg("out").none() = nb::none(),
            nb::arg("threads") = 0, quantize_dynamic_docstring);
    m.def("ggml_types", ggml_types);
    m.def("ggml_quantize", [](const std::string &name, nb::handle x, nb::handle out, int threads) {
        const auto &type = ggml_type(name);
        const array from(x, "data"), to(out, "out", true);
        const nb::gil_scoped_release release;
        ggml::quantize(type, reinterpret_cast<const float *>(from.data), from.elements / type.elements,
                reinterpret_cast<std::uint8_t *>(to.data), threads);
    });
    m.def("ggml_dequantize", [](const std::string &name, nb::handle data, nb::handle out, int threads) {
        const auto &type = ggml_type(name);
        const array from(data, "data"), to(out, "out", true);
        const nb::gil_scoped_release release;
        ggml::dequantize(type, reinterpret_cast<const std::uint8_t *>(from.data), from.elements / type.bytes,
                reinterpret_cast<float *>(to.data), threads);
    });
    m.def("presets", presets, presets_docstring);
    m.def("best_isa", [] { return dynquant::to_string(dynquant::best_isa()); });
    m.def(
            "set_threads",
            [](int count) {
                if (count < 0)
                    throw nb::value_error(("count: expected 0 or more, given " + std::to_string(count)).c_str());
                set_threads(count);
            },
            nb::arg("count"), set_threads_docstring);
    m.def("get_threads", get_threads, get_threads_docstring);
}

} // namespace exactquant

#include "tensors.hpp"

#include <algorithm>
#include <cstring>
#include <functional>
#include <sstream>
#include <stdexcept>

#include "onnx/element_type.hpp"
#include "quantization/broadcast.hpp"
#include "quantization/shape.hpp"
#include "quantization/text.hpp"

namespace dqmodel {
namespace {

namespace fs = std::filesystem;
namespace type = dynquant::onnx::type;
using dynquant::concat, dynquant::dims, dynquant::models::free_extent, dynquant::models::text_of;

/// Calls f with a null pointer to the C++ type of the elements. Throws std::runtime_error for types that NumPy lacks.
template <typename F>
auto with_element(dynquant::onnx::element_type element, const std::string &port, const F &f) {
    switch (element) {
        case type::float32: return f(static_cast<const float *>(nullptr));
        case type::float64: return f(static_cast<const double *>(nullptr));
        case type::float16: return f(static_cast<const npy::float16 *>(nullptr));
        case type::boolean: return f(static_cast<const bool *>(nullptr));
        case type::int8: return f(static_cast<const std::int8_t *>(nullptr));
        case type::int16: return f(static_cast<const std::int16_t *>(nullptr));
        case type::int32: return f(static_cast<const std::int32_t *>(nullptr));
        case type::int64: return f(static_cast<const std::int64_t *>(nullptr));
        case type::uint8: return f(static_cast<const std::uint8_t *>(nullptr));
        case type::uint16: return f(static_cast<const std::uint16_t *>(nullptr));
        case type::uint32: return f(static_cast<const std::uint32_t *>(nullptr));
        case type::uint64: return f(static_cast<const std::uint64_t *>(nullptr));
        default:
            throw std::runtime_error(concat(port,
                    ": expected a type that .npy files have (float, double, float16, bool, integers of 8 to 64 bits), "
                    "given ",
                    dynquant::onnx::name_of(element)));
    }
}

/// Copies the elements to row-major order.
template <typename T>
std::vector<std::byte> row_major(const npy::tensor<T> &t) {
    std::vector<std::byte> bytes(static_cast<std::size_t>(t.volume) * sizeof(T));
    if (!t.fortran_order) {
        if (!bytes.empty()) std::memcpy(bytes.data(), t.data.get(), bytes.size());
        return bytes;
    }
    for (std::int64_t i = 0; i < t.volume; ++i) {
        const auto from = dynquant::offset_of(i, t.dims, t.strides);
        std::memcpy(bytes.data() + static_cast<std::size_t>(i) * sizeof(T), t.data.get() + from, sizeof(T));
    }
    return bytes;
}

bool fits(const dims &shape, const dynquant::models::port &port, bool many) {
    if (!port.shape) return true;
    const auto &wanted = *port.shape;
    if (shape.size() != wanted.size()) return false;
    for (std::size_t d = 0; d < shape.size(); ++d) {
        if (wanted[d] == free_extent || wanted[d] == shape[d]) continue;
        if (d > 0 || !many || wanted[d] == 0 || shape[d] % wanted[d] != 0) return false;
    }
    return true;
}

/// "1,64" for the shape [?, 64]
std::string example_of(const std::optional<dims> &shape) {
    if (!shape) return "1,28,28";
    std::string text;
    for (const auto extent : *shape)
        text += concat(text.empty() ? "" : ",", extent == free_extent ? 1 : extent);
    return text;
}

std::vector<std::string> names_of(const std::vector<dynquant::models::port> &ports) {
    std::vector<std::string> names;
    names.reserve(ports.size());
    for (const auto &p : ports)
        names.push_back(p.name);
    return names;
}

std::string file_name(const dynquant::model_port &port) {
    auto name = port.name;
    std::replace_if(
            name.begin(), name.end(),
            [](char c) { return c == '/' || c == ':' || static_cast<unsigned char>(c) < ' '; }, '_');
    return name + ".npy";
}

} // namespace

std::vector<fs::path> files_of(
        const std::vector<std::string> &given, const std::vector<dynquant::models::port> &ports, const char *option) {
    std::vector<fs::path> files(ports.size());
    const auto names = names_of(ports);
    for (const auto &text : given) {
        const auto equals = text.find('=');
        if (equals == std::string::npos && ports.size() != 1)
            throw std::runtime_error(concat(
                    option, ": expected name=x.npy for a model of ", ports.size(), " inputs, given '", text, "'"));
        const auto name = equals == std::string::npos ? names.front() : text.substr(0, equals);
        const auto at = std::find(names.begin(), names.end(), name);
        if (at == names.end())
            throw std::runtime_error(concat(option, ": expected an input of the model, ",
                    dynquant::alternatives(names, std::identity {}), ", given '", name, "'",
                    dynquant::suggest(name, names)));
        auto &file = files[static_cast<std::size_t>(at - names.begin())];
        if (!file.empty()) throw std::runtime_error(concat(option, ": expected one file for '", name, "', given two"));
        file = equals == std::string::npos ? text : text.substr(equals + 1);
    }
    for (std::size_t i = 0; i < files.size(); ++i)
        if (files[i].empty())
            throw std::runtime_error(
                    concat(option, ": expected a file for each input, given none for '", names[i], "'"));
    return files;
}

std::map<std::string, dims> shapes_of(const std::vector<std::string> &given) {
    std::map<std::string, dims> shapes;
    for (const auto &text : given) {
        const auto equals = text.find('=');
        dims shape;
        std::istringstream extents(equals == std::string::npos ? "" : text.substr(equals + 1));
        for (std::string extent; std::getline(extents, extent, ',');) {
            const bool is_number = !extent.empty() && extent.size() <= 18
                    && std::all_of(extent.begin(), extent.end(), [](char c) { return c >= '0' && c <= '9'; });
            if (!is_number) throw std::runtime_error(concat("--shape: expected name=1,28,28, given '", text, "'"));
            shape.push_back(std::stoll(extent));
        }
        if (equals == std::string::npos)
            throw std::runtime_error(concat("--shape: expected name=1,28,28, given '", text, "'"));
        shapes[text.substr(0, equals)] = shape;
    }
    return shapes;
}

void expect_shapes(const std::vector<dynquant::models::port> &inputs, const std::map<std::string, dims> &shapes) {
    for (const auto &input : inputs) {
        const bool is_open = !input.shape || std::count(input.shape->begin(), input.shape->end(), free_extent) > 0;
        if (is_open && !shapes.contains(input.name))
            throw dynquant::error(dynquant::status::invalid_shape,
                    concat("input '", input.name, "': expected its shape, as in --shape ", input.name, "=",
                            example_of(input.shape), ", since the file says ", text_of(input.shape), ", given none"));
    }
}

dynquant::models::tensor read_tensor(const fs::path &file, const dynquant::models::port &port, bool many) {
    const auto what = concat("input '", port.name, "'");
    return with_element(port.type, what, [&](auto *element) {
        try {
            const auto t = npy::read<std::remove_cvref_t<decltype(*element)>>(file);
            if (!fits(t.dims, port, many))
                throw std::runtime_error(concat("shape: expected ", text_of(port.shape),
                        many ? ", or a multiple of its first extent" : "", ", given ", text_of(t.dims)));
            return dynquant::models::tensor {{port.type, t.dims}, row_major(t)};
        } catch (const std::runtime_error &e) {
            throw std::runtime_error(concat(what, ": ", file.string(), ": ", e.what()));
        }
    });
}

void expect_files(const std::vector<dynquant::model_port> &outputs) {
    std::map<std::string, std::string> names; // of outputs, by file name
    for (const auto &port : outputs) {
        with_element(port.type, concat("output '", port.name, "'"), [](auto *) {});
        const auto [other, is_new] = names.try_emplace(file_name(port), port.name);
        if (!is_new)
            throw std::runtime_error(concat("output '", port.name, "': expected a file of its own, given ",
                    other->first, ", which is that of '", other->second, "'"));
    }
}

fs::path write_tensor(command_line::new_files &files, const fs::path &folder, const dynquant::model_port &port,
        const std::byte *data) {
    auto path = (folder / file_name(port)).lexically_normal();
    with_element(port.type, concat("output '", port.name, "'"), [&](auto *element) {
        files.write(path, npy::bytes_of(reinterpret_cast<decltype(element)>(data), port.shape, false));
    });
    return path;
}

std::size_t bytes_of(const dynquant::model_port &port) {
    return static_cast<std::size_t>(dynquant::models::size_in_bytes({port.type, port.shape}).value_or(0));
}

} // namespace dqmodel

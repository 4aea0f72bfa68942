#include "onnx/element_type.hpp"

#include <functional>

#include "quantization/names.hpp"
#include "quantization/text.hpp"

namespace dynquant::onnx {
namespace {

// By number.
constexpr const char *names[] = {"undefined", "float", "uint8", "int8", "uint16", "int16", "int32", "int64", "string",
        "bool", "float16", "double", "uint32", "uint64", "complex64", "complex128", "bfloat16", "float8e4m3fn",
        "float8e4m3fnuz", "float8e5m2", "float8e5m2fnuz", "uint4", "int4", "float4e2m1", "float8e8m0", "uint2", "int2",
        "float6e2m3", "float6e3m2"};
static_assert(all_of_types([]<data_type type>() {
    return traits(type).onnx != no_number && traits(type).onnx < static_cast<int>(std::size(names));
}),
        "expected a number of ONNX, with a name above, for each type; element_type_of() refuses none");

} // namespace

std::optional<data_type> data_type_of(element_type type) {
    for (const auto &row : data_types)
        if (type != type::undefined && row.onnx == type) return row.type;
    return std::nullopt;
}

element_type element_type_of(data_type type) {
    if (!find_name(type))
        throw error(status::invalid_data_type,
                concat("element_type_of: expected a type of data_type, given number ", static_cast<int>(type)));
    return traits(type).onnx;
}

std::string name_of(element_type type) {
    return type >= 0 && type < static_cast<element_type>(std::size(names)) ? names[type] : concat("type ", type);
}

std::string names_of(type_set types) {
    std::vector<std::string> found;
    for (element_type type = 0; type < static_cast<element_type>(std::size(names)); ++type)
        if (types.contains(type)) found.emplace_back(names[type]);
    return alternatives(found, std::identity {});
}

} // namespace dynquant::onnx

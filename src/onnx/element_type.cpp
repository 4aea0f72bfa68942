#include "onnx/element_type.hpp"

#include <algorithm>
#include <functional>

#include "quantization/text.hpp"

namespace dynquant::onnx {
namespace {

struct row {
    element_type number;
    const char *name;
    std::optional<data_type> type; // nothing: no operator here uses it
};

// In the order of the numbers.
constexpr row table[] = {
        {0, "undefined", {}},
        {type::float32, "float", data_type::f32},
        {type::uint8, "uint8", data_type::u8},
        {type::int8, "int8", data_type::s8},
        {type::uint16, "uint16", data_type::u16},
        {type::int16, "int16", data_type::s16},
        {type::int32, "int32", data_type::s32},
        {type::int64, "int64", {}},
        {8, "string", {}},
        {type::boolean, "bool", {}},
        {type::float16, "float16", data_type::f16},
        {type::float64, "double", {}},
        {type::uint32, "uint32", data_type::u32},
        {type::uint64, "uint64", {}},
        {14, "complex64", {}},
        {15, "complex128", {}},
        {type::bfloat16, "bfloat16", data_type::bf16},
        {type::float8e4m3fn, "float8e4m3fn", data_type::f8_e4m3},
        {type::float8e4m3fnuz, "float8e4m3fnuz", data_type::f8_e4m3fnuz},
        {type::float8e5m2, "float8e5m2", data_type::f8_e5m2},
        {type::float8e5m2fnuz, "float8e5m2fnuz", data_type::f8_e5m2fnuz},
        {type::uint4, "uint4", data_type::u4},
        {type::int4, "int4", data_type::s4},
        {type::float4e2m1, "float4e2m1", data_type::f4_e2m1},
        {type::float8e8m0, "float8e8m0", data_type::f8_e8m0},
        {type::uint2, "uint2", data_type::u2},
        {type::int2, "int2", data_type::s2},
        {type::float6e2m3, "float6e2m3", data_type::f6_e2m3},
        {type::float6e3m2, "float6e3m2", data_type::f6_e3m2},
};
static_assert(std::ranges::all_of(table, [](const row &r) { return &table[r.number] == &r; }));

const row *find(element_type number) {
    return number >= 0 && number < static_cast<element_type>(std::size(table)) ? &table[number] : nullptr;
}

} // namespace

std::optional<data_type> data_type_of(element_type type) {
    const auto *found = find(type);
    return found ? found->type : std::nullopt;
}

element_type element_type_of(data_type type) {
    const auto *found = std::ranges::find(table, type, &row::type);
    if (found == std::end(table))
        throw error(dnnl_invalid_data_type,
                concat("element_type_of: expected a type of data_type, given number ", static_cast<int>(type)));
    return found->number;
}

std::string name_of(element_type type) {
    const auto *found = find(type);
    return found ? found->name : concat("type ", type);
}

std::string names_of(type_set types) {
    std::vector<std::string> names;
    for (const auto &r : table)
        if (types.contains(r.number)) names.emplace_back(r.name);
    return alternatives(names, std::identity {});
}

} // namespace dynquant::onnx

// Prints the operators of ONNX's own domain for compare_schemas.py, a line of JSON for each row: the table of
// dynquant::onnx, and the rows of models that are not in it. Types are numbers of TensorProto.DataType and of
// AttributeProto.AttributeType.
#include <iostream>

#include "model/op_schema.hpp"
#include "onnx/op_schema.hpp"

namespace {

using namespace dynquant;

/// The texts of all values, with commas between them.
template <typename Values, typename Text>
std::string list(const Values &values, Text text_of) {
    std::string all;
    for (const auto &value : values)
        all += (all.empty() ? "" : ", ") + text_of(value);
    return all;
}

std::string types(onnx::type_set set) {
    std::vector<onnx::element_type> found;
    for (onnx::element_type t = 1; t < 64; ++t)
        if (set.contains(t)) found.push_back(t);
    return '[' + list(found, [](auto t) { return std::to_string(t); }) + ']';
}

/// A member of an object.
std::string member(const std::string &name, const std::string &value) {
    return '"' + name + "\": " + value;
}

std::string input(const models::input_schema &i) {
    return R"({"name": ")" + std::string(i.name) + R"(", "optional": )" + (i.optional ? "true" : "false") + ", "
            + member("types", types(i.types)) + '}';
}

void print(const char *name, std::int64_t since, std::span<const models::input_schema> inputs,
        const std::string &attributes, const std::string &others) {
    std::cout << R"({"name": ")" << name << R"(", "since": )" << since << R"(, "inputs": [)" << list(inputs, input)
              << R"(], "attributes": {)" << attributes << "}, " << others << "}\n";
}

void print(const onnx::op_schema &row) {
    const bool quantizes = row.dir == direction::quantize;
    std::vector<models::input_schema> inputs = {{name_of(row, onnx::x), quantizes ? row.real : row.quantized}};
    std::vector<onnx::type_set> outputs = {quantizes ? row.quantized : row.real};
    if (row.dynamic) {
        outputs.insert(outputs.end(), {row.scale, row.quantized});
    } else {
        inputs.push_back({name_of(row, onnx::scale), row.scale});
        inputs.push_back({name_of(row, onnx::zero_point), row.quantized, true});
    }
    const onnx::attributes defaults;
    const auto type_of = [](const auto &known) { return member(known.name, known.text ? "3" : "2"); };
    const auto default_of = [&](const auto &known) {
        return member(
                known.name, known.text ? '"' + defaults.*known.text + '"' : std::to_string(defaults.*known.value));
    };
    print(row.name, row.since, inputs, list(row.attributes, type_of),
            R"("partial": false, "outputs": [)" + list(outputs, types) + R"(], "scale_like_x": )"
                    + (row.scale_like_x ? "true" : "false") + R"(, "defaults": {)" + list(row.attributes, default_of)
                    + '}');
}

void print(const models::op_schema &row) {
    const auto type_of = [](const models::attribute_schema &known) {
        return member(known.name, std::to_string(static_cast<int>(known.type)));
    };
    print(row.name, row.since, row.inputs, list(row.attributes, type_of), R"("partial": true)");
}

} // namespace

int main() {
    for (const auto &row : onnx::op_schemas())
        if (std::string(row.domain).empty()) print(row);
    for (const auto &row : models::op_schemas())
        if (!row.checked_elsewhere) print(row);
}

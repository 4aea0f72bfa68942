// Prints the operator table as JSON, for compare_schemas.py.
#include <iostream>

#include "model/op_schema.hpp"

namespace {

using namespace dynquant::models;

void print_inputs(const op_schema &row) {
    const char *separator = "";
    for (const auto &input : row.inputs) {
        std::cout << separator << R"({"name": ")" << input.name << R"(", "optional": )" << input.optional
                  << R"(, "types": [)";
        separator = "";
        for (dynquant::onnx::element_type t = 1; t < 64; ++t)
            if (input.types.contains(t)) {
                std::cout << separator << t;
                separator = ", ";
            }
        std::cout << "]}";
        separator = ", ";
    }
}

/// The numbers of AttributeProto.AttributeType.
void print_attributes(const op_schema &row) {
    const auto number_of = [](attribute_kind kind) {
        switch (kind) {
            case attribute_kind::real: return 1;
            case attribute_kind::integer: return 2;
            case attribute_kind::text: return 3;
            case attribute_kind::integers: return 7;
        }
        return 0;
    };
    const char *separator = "";
    for (const auto &known : row.attributes) {
        std::cout << separator << '"' << known.name << "\": " << number_of(known.kind);
        separator = ", ";
    }
}

} // namespace

int main() {
    std::cout << R"({"newest_opset": )" << newest_opset << R"(, "rows": [)";
    const char *separator = "\n";
    for (const auto &row : op_schemas()) {
        if (row.checked_elsewhere) continue; // in dynquant::onnx's table
        std::cout << separator << R"({"name": ")" << row.name << R"(", "since": )" << row.since << R"(, "inputs": [)";
        print_inputs(row);
        std::cout << R"(], "attributes": {)";
        print_attributes(row);
        std::cout << "}}";
        separator = ",\n";
    }
    std::cout << "]}\n";
}

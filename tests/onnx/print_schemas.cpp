// Prints the operator table as JSON, for compare_schemas.py.
#include <iostream>

#include "onnx/op_schema.hpp"

namespace {

using namespace dynquant::onnx;

void print_types(const char *name, type_set types) {
    std::cout << ", \"" << name << "\": [";
    const char *separator = "";
    for (element_type t = 1; t < 64; ++t)
        if (types.contains(t)) {
            std::cout << separator << t;
            separator = ", ";
        }
    std::cout << ']';
}

void print(const op_schema &schema) {
    const attributes defaults;
    std::cout << R"({"domain": ")" << schema.domain << R"(", "name": ")" << schema.name << R"(", "since": )"
              << schema.since << R"(, "scale_like_x": )" << schema.scale_like_x << R"(, "quantizes": )"
              << (schema.dir == dynquant::direction::quantize);
    print_types("real", schema.real);
    print_types("scale", schema.scale);
    print_types("quantized", schema.quantized);
    std::cout << ", \"inputs\": [\"" << name_of(schema, x);
    if (!schema.dynamic) std::cout << "\", \"" << name_of(schema, scale) << "\", \"" << name_of(schema, zero_point);
    std::cout << "\"], \"attributes\": {";
    const char *separator = "";
    for (const auto &known : schema.attributes) {
        std::cout << separator << '"' << known.name << "\": ";
        if (known.text)
            std::cout << '"' << defaults.*known.text << '"';
        else
            std::cout << defaults.*known.value;
        separator = ", ";
    }
    std::cout << "}}";
}

} // namespace

int main() {
    const char *separator = "[";
    for (const auto &schema : op_schemas()) {
        std::cout << separator;
        print(schema);
        separator = ",\n";
    }
    std::cout << "]\n";
}

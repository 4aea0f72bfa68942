#include "quantization/onednn_type.hpp"

#include "elements/table.hpp"
#include "quantization/text.hpp"

namespace dynquant {

std::optional<data_type> from_onednn(dnnl_data_type_t type) {
    if (type == dnnl_data_type_undef) return std::nullopt;
    for (const auto &row : data_types)
        if (onednn_type(row.type) == type) return row.type;
    return std::nullopt;
}

std::string name_of(dnnl_data_type_t type) {
    const auto known = from_onednn(type);
    if (known) return to_string(*known);
    switch (type) { // types of oneDNN 3.2 that dynquant does not have
        case dnnl_data_type_undef: return "undef";
        case dnnl_f64: return "f64";
        case dnnl_boolean: return "boolean";
        default: return concat("number ", static_cast<int>(type));
    }
}

} // namespace dynquant

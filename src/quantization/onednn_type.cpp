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

status from_onednn(dnnl_status_t of_onednn) {
    switch (of_onednn) {
        case dnnl_out_of_memory: return status::out_of_memory;
        case dnnl_invalid_arguments:
        case dnnl_invalid_graph:
        case dnnl_invalid_graph_op: return status::invalid_arguments;
        case dnnl_invalid_shape: return status::invalid_shape;
        case dnnl_invalid_data_type: return status::invalid_data_type;
        case dnnl_unimplemented: return status::unimplemented;
        default: return status::runtime_error;
    }
}

} // namespace dynquant

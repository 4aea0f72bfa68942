#include "quantization/onednn_type.hpp"

#include "oneapi/dnnl/dnnl_debug.h"
#include "quantization/data_type.hpp"

namespace dynquant {

std::optional<data_type> from_onednn(dnnl_data_type_t type) {
    for (const auto &row : data_types)
        if (onednn_type(row.type) == type) return row.type;
    return std::nullopt;
}

const char *name_of(dnnl_data_type_t type) {
    const auto known = from_onednn(type);
    return known ? to_string(*known) : dnnl_dt2str(type);
}

} // namespace dynquant

#include "graph/refusal.hpp"

#include "graph/onednn.hpp"
#include "graph/op_schema.hpp"

namespace dynquant::graph::core {

std::string label(const op_record &op) {
    const auto *name = kind_name(op.kind);
    return concat("op ", op.id, op.name.empty() ? "" : " '" + op.name + "'", " (",
            name ? name : concat("kind ", static_cast<int>(op.kind)), ")");
}

void require_cpu(const std::string &what, dnnl_engine_kind_t kind) {
    if (kind != dnnl_cpu)
        throw refused(dnnl_invalid_arguments,
                concat(what, ": expected engine kind cpu, given ", onednn().engine_kind2str(kind)));
}

} // namespace dynquant::graph::core

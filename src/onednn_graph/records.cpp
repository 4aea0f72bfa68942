#include "onednn_graph/records.hpp"

namespace dynquant::onednn_graph {

registry<op_record> &ops() {
    static auto &all = *new registry<op_record>;
    return all;
}

registry<graph_state> &graphs() {
    static auto &all = *new registry<graph_state>;
    return all;
}

registry<const claim> &claims() {
    static auto &all = *new registry<const claim>;
    return all;
}

} // namespace dynquant::onednn_graph

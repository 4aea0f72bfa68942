#include "peers/peer.hpp"

#include "quantization/text.hpp"

namespace dqbench {
namespace {

std::unique_ptr<peer> make(peer_kind kind, const task &t) {
    switch (kind) {
        case peer_kind::flat: return make_flat(t);
        case peer_kind::onednn_graph: return make_onednn_graph(t);
        case peer_kind::onednn_reorder: return make_onednn_reorder(t);
        case peer_kind::xnnpack: break;
    }
    return make_xnnpack(t);
}

/// The error as text: "unimplemented: could not ...".
std::string describe(const dnnl::error &e) {
    const char *status = "runtime_error";
    switch (e.status) {
        case dnnl_out_of_memory: status = "out_of_memory"; break;
        case dnnl_invalid_arguments: status = "invalid_arguments"; break;
        case dnnl_unimplemented: status = "unimplemented"; break;
        case dnnl_invalid_graph: status = "invalid_graph"; break;
        case dnnl_invalid_graph_op: status = "invalid_graph_op"; break;
        case dnnl_invalid_shape: status = "invalid_shape"; break;
        case dnnl_invalid_data_type: status = "invalid_data_type"; break;
        default: break;
    }
    return dynquant::concat(status, ": ", e.message);
}

} // namespace

peer_or_reason try_make_peer(peer_kind kind, const task &t) {
    if (t.s.volume() == 0) // oneDNN 3.2's reorder divides by zero
        return {nullptr, false, "was not asked: the tensors have no elements"};
    try {
        auto made = make(kind, t);
        made->execute(); // some statements compile and then fail
        made->park_threads();
        return {std::move(made)};
    } catch (const refusal &e) {
        return {nullptr, false, dynquant::concat("refuses: ", e.what())};
    } catch (const dnnl::error &e) {
        return {nullptr, false, dynquant::concat("refuses: ", describe(e))};
    } catch (const peer_not_built &e) {
        return {nullptr, true, dynquant::concat("is absent: ", e.what())};
    }
}

} // namespace dqbench

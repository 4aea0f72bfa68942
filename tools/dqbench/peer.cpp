#include "peer.hpp"

#include "quantization/text.hpp"

namespace dqbench {

// The one kind there is: oneDNN Graph itself. Another would make this an interface.
struct peer::contestant {
    contestant(const statement &s, const parameters &p, workspace &inputs)
        : program(s, p)
        , dst(static_cast<std::int64_t>(program.dst().get_mem_size())) {
        program.bind(inputs.handles_with_dst(dst));
    }

    graph_program<with_onednn> program;
    guarded_buffer dst;
};

peer::peer(peer_kind, const statement &s, const parameters &p, workspace &inputs) {
    if (s.volume() == 0) { // oneDNN 3.2 divides by zero where it has such a reorder at all
        refusal_ = "was not asked: the tensors have no elements";
        return;
    }
    try {
        contestant_ = std::make_unique<contestant>(s, p, inputs);
        execute(); // some statements compile and then fail
    } catch (const dnnl::error &e) {
        contestant_ = nullptr;
        refusal_ = dynquant::concat("refuses: ", describe(e));
    }
}

peer::~peer() = default;

void peer::execute() {
    contestant_->program.execute();
}

std::optional<computed> peer::dst() const {
    const auto &dst = contestant_->program.dst();
    if (dst.get_layout_type() != logical_tensor::layout_type::strided) return std::nullopt;
    return computed {contestant_->dst, dst.get_strides()};
}

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

} // namespace dqbench

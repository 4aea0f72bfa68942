// oneDNN Graph as a peer: the same program as dynquant's.
#include "peers/peer.hpp"

namespace dqbench {
namespace {

class onednn_graph_peer final : public peer {
  public:
    explicit onednn_graph_peer(const task &t)
        : program_(t.s, t.drawn)
        , dst_(&t.dst) {
        const auto size = program_.dst().get_mem_size();
        if (size > dst_->bytes().size()) dst_ = &own_dst_.emplace(static_cast<std::int64_t>(size));
        program_.bind({t.inputs.src, t.inputs.scales, t.inputs.zero_points, dst_->data()});
    }

    void execute() override { program_.execute(); }

    std::optional<computed> dst() const override {
        const auto &dst = program_.dst();
        if (dst.get_layout_type() != logical_tensor::layout_type::strided) return std::nullopt;
        return computed {*dst_, dst.get_strides()};
    }

  private:
    graph_program<with_onednn> program_;
    guarded_buffer *dst_;
    std::optional<guarded_buffer> own_dst_; // if oneDNN chose a larger layout than dynquant
};

} // namespace

std::unique_ptr<peer> make_onednn_graph(const task &t) {
    return std::make_unique<onednn_graph_peer>(t);
}

} // namespace dqbench

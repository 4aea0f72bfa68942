// The flat loop as a peer: the machine's limit.
#include "limit/limit.hpp"
#include "peers/peer.hpp"
#include "quantization/environment.hpp"

namespace dqbench {
namespace {

class flat_peer final : public peer {
  public:
    explicit flat_peer(const task &t)
        : loop_(limit::prepare_flat({t.s.types.src, t.s.extents, t.s.src_strides},
                {t.s.types.dst, t.s.extents, t.dst_strides}, dynquant::environment::usable_features())) {
        arguments_.src = t.inputs.src;
        arguments_.dst = t.dst.data();
    }

    void execute() override { loop_->run(arguments_); }
    std::optional<computed> dst() const override { return std::nullopt; }

  private:
    std::unique_ptr<dynquant::kernels::implementation> loop_;
    dynquant::arguments arguments_;
};

} // namespace

std::unique_ptr<peer> make_flat(const task &t) {
    return std::make_unique<flat_peer>(t);
}

} // namespace dqbench

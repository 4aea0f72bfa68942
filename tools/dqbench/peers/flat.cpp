// The flat loop as a peer: what the machine gives a plain loop.
#include "flat/flat.hpp"
#include "peers/peer.hpp"
#include "quantization/environment.hpp"

namespace dqbench {
namespace {

class flat_peer final : public peer {
  public:
    explicit flat_peer(const task &t)
        : loop_({t.s.types.src, t.s.extents, t.s.src_strides}, {t.s.types.dst, t.s.extents, t.dst_strides},
                dynquant::environment::usable_features())
        , src_(t.inputs.src)
        , dst_(t.dst.data()) {}

    void execute() override { loop_.run(src_, dst_); }
    std::optional<computed> dst() const override { return std::nullopt; }

  private:
    flat::loop loop_;
    const void *src_;
    void *dst_;
};

} // namespace

std::unique_ptr<peer> make_flat(const task &t) {
    return std::make_unique<flat_peer>(t);
}

} // namespace dqbench

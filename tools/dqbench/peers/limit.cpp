// The limit kernel as a peer.
#include "peers/peer.hpp"
#include "program.hpp"

namespace dqbench {
namespace {

class limit_peer final : public peer {
  public:
    explicit limit_peer(const task &t)
        : program_(make_limit_program(t.s, t.drawn, t.dst_strides)) {
        program_->bind({t.inputs.src, t.inputs.scales, t.inputs.zero_points, t.dst.data()});
    }

    void execute() override { program_->execute(); }
    std::optional<computed> dst() const override { return std::nullopt; }

  private:
    std::unique_ptr<program> program_;
};

} // namespace

std::unique_ptr<peer> make_limit(const task &t) {
    return std::make_unique<limit_peer>(t);
}

} // namespace dqbench

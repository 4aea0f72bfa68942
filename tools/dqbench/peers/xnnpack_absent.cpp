// Replaces xnnpack.cpp where CMake finds no XNNPACK.
#include "peers/peer.hpp"

namespace dqbench {

std::unique_ptr<peer> make_xnnpack(const task &) {
    throw peer_not_built(
            "this dqbench was built without XNNPACK; install it (Debian: libxnnpack-dev and libpthreadpool-dev), "
            "then configure and build again");
}

} // namespace dqbench

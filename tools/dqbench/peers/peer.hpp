// peers/ has other implementations of a statement, one a file, which run on the same inputs as dynquant.
#pragma once

#include <memory>
#include <optional>
#include <stdexcept>
#include <string>

#include "compare.hpp"
#include "contestant.hpp"
#include "graph_program.hpp"

namespace dqbench {

class peer : public contestant {
  public:
    /// The computed dst; nothing if its layout is opaque or its contents mean nothing.
    virtual std::optional<computed> dst() const = 0;
};

/// What a peer computes. It uses as many threads as the TBB arena in which it is made.
struct task {
    const statement &s;
    const parameters &drawn;
    buffers inputs;                    // a peer must not write inputs.dst
    const dynquant::dims &dst_strides; // dynquant's
    guarded_buffer &dst;
};

/// The peer cannot compute the statement; the text is the reason.
struct refusal : std::runtime_error {
    using std::runtime_error::runtime_error;
};

/// This dqbench was built without the peer; the text says how to get it.
struct peer_not_built : std::runtime_error {
    using std::runtime_error::runtime_error;
};

/// A peer that has run the task once, or the reason why there is none.
struct peer_or_reason {
    std::unique_ptr<peer> instance;
    bool absent = false;
    std::string reason = {}; // "refuses: ...", "is absent: ..."; empty if there is a peer
};

peer_or_reason try_make_peer(peer_kind kind, const task &t);

/// Make a peer. Throw refusal, peer_not_built or dnnl::error.
std::unique_ptr<peer> make_flat(const task &t);
std::unique_ptr<peer> make_onednn_graph(const task &t);
std::unique_ptr<peer> make_onednn_reorder(const task &t);
std::unique_ptr<peer> make_xnnpack(const task &t);

} // namespace dqbench

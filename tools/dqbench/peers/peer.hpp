// Competitors: other ways to run the same statement on the same inputs.
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
    /// Its dst; nothing when the layout is its own affair, or its results mean nothing.
    virtual std::optional<computed> dst() const = 0;
};

/// What a peer is asked to compute, with the threads of the arena that it is made in.
struct task {
    const statement &s;
    const parameters &drawn;
    buffers inputs;                    // their dst is not a peer's to write
    const dynquant::dims &dst_strides; // dynquant's
    guarded_buffer &dst;
};

/// A peer cannot state the task: "one zero point serves all channels".
struct refusal : std::runtime_error {
    using std::runtime_error::runtime_error;
};

/// This dqbench was built without the peer; the text says how to get it.
struct peer_not_built : std::runtime_error {
    using std::runtime_error::runtime_error;
};

/// A peer that has run the task once, or why there is none.
struct peer_or_reason {
    std::unique_ptr<peer> instance;
    bool absent = false;
    std::string reason = {}; // "refuses: ...", "is absent: ..."; empty when accepted
};

peer_or_reason try_make_peer(peer_kind kind, const task &t);

/// One for each kind, each in a file of its own. They throw refusal, peer_not_built or dnnl::error.
std::unique_ptr<peer> make_limit(const task &t);
std::unique_ptr<peer> make_onednn_graph(const task &t);
std::unique_ptr<peer> make_onednn_reorder(const task &t);
std::unique_ptr<peer> make_xnnpack(const task &t);

/// Of a dnnl::error: "unimplemented: could not ...".
std::string describe(const dnnl::error &e);

} // namespace dqbench

// Competitors: other ways to run the same statement on the same inputs.
#pragma once

#include <memory>
#include <optional>
#include <string>

#include "compare.hpp"
#include "workspace.hpp"

namespace dqbench {

/// A peer that has run the statement once, or its refusal to.
class peer {
  public:
    peer(peer_kind kind, const statement &s, const parameters &p, workspace &inputs);
    ~peer();
    peer(const peer &) = delete;
    peer &operator=(const peer &) = delete;

    /// Why it does not run the statement ("refuses: ..."); empty when it does.
    const std::string &refusal() const { return refusal_; }

    void execute();

    /// Its dst; nothing when the layout is its own affair.
    std::optional<computed> dst() const;

  private:
    struct contestant;

    std::unique_ptr<contestant> contestant_;
    std::string refusal_;
};

/// Of a dnnl::error: "unimplemented: could not ...".
std::string describe(const dnnl::error &e);

} // namespace dqbench

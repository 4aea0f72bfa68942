// The interface of what a measurement times: dynquant and its peers.
#pragma once

namespace dqbench {

class contestant {
  public:
    contestant() = default;
    contestant(const contestant &) = delete;
    contestant &operator=(const contestant &) = delete;
    virtual ~contestant() = default;

    /// Runs the statement once, on buffers bound before.
    virtual void execute() = 0;

    /// Puts spinning worker threads to sleep, so that they do not take cores from the next contestant.
    virtual void park_threads() {}
};

} // namespace dqbench

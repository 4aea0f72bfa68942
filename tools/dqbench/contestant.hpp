// What takes turns in a measurement.
#pragma once

namespace dqbench {

class contestant {
  public:
    contestant() = default;
    contestant(const contestant &) = delete;
    contestant &operator=(const contestant &) = delete;
    virtual ~contestant() = default;

    /// Runs the statement once, on buffers that it knows.
    virtual void execute() = 0;

    /// Sends threads to sleep that would otherwise go on waiting for work, on the next contestant's cores.
    virtual void park_threads() {}
};

} // namespace dqbench

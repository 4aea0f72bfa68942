// A line of progress on a terminal.
#pragma once

#include "timing.hpp"

namespace dqbench {

/// Shown on stderr if that is a terminal and there is enough to do, until all is done. What is printed on stdout stands
/// between hide() and show().
class progress {
  public:
    progress(double total, bool is_long);

    void show(double done);
    void hide() const;

  private:
    static void erase();

    double total_;
    bool shown_, shares_terminal_; // stdout is the terminal too
    clock::time_point start_ = clock::now(), last_ = start_;
};

} // namespace dqbench

// Fewer cases for the slowest tests. With DYNQUANT_TEST_SAMPLE=N they try one case of N: 7 under the gate's sanitizers,
// 1 in .ci/full. CONTRIBUTING.md names them.
#pragma once

#include <charconv>
#include <cstdlib>
#include <cstring>
#include <stdexcept>
#include <string>

namespace dynquant::test {

/// Says of each case in turn whether to try it. A prime N that divides the length of no nested loop meets each value of
/// each.
class case_sampler {
  public:
    /// Without the variable one case of `otherwise`.
    explicit case_sampler(unsigned otherwise = 1)
        : step_(otherwise) {
        const char *text = std::getenv("DYNQUANT_TEST_SAMPLE");
        if (!text) return;
        const char *end = text + std::strlen(text);
        const auto [stop, error] = std::from_chars(text, end, step_);
        if (error != std::errc() || stop != end || step_ == 0)
            throw std::invalid_argument(
                    "DYNQUANT_TEST_SAMPLE: expected a number from 1 on, given '" + std::string(text) + "'");
    }

    bool takes() { return next_++ % step_ == 0; }

  private:
    unsigned step_, next_ = 0;
};

} // namespace dynquant::test

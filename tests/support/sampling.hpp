// Samples the cases of the slowest tests. With DYNQUANT_TEST_SAMPLE=N these tests try every Nth case: N is 7 under the
// gate's sanitizers and 1 in .ci/full. .ci/README.md names the tests.
#pragma once

#include <charconv>
#include <cstdlib>
#include <cstring>
#include <stdexcept>
#include <string>

namespace dynquant::test {

/// Selects every Nth case. A prime N that divides the length of no nested loop meets each value of each loop.
class case_sampler {
  public:
    /// `otherwise` is N where the variable is not set.
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

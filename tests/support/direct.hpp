// Runs a statement through the direct API in guarded buffers, and compares the result with the oracle.
#pragma once

#include <string>

#include <gtest/gtest.h>

#include "guarded_buffer.hpp"
#include "oracle/elements.hpp"
#include "oracle/statements.hpp"
#include "variants.hpp"

namespace dynquant::test {

/// Values as the bytes of a buffer.
template <typename T>
std::vector<std::byte> bytes_of(const std::vector<T> &values) {
    const auto bytes = std::as_bytes(std::span(values));
    return {bytes.begin(), bytes.end()};
}

/// Bytes from the first element to the last, gaps included.
std::size_t bytes_spanned(const tensor &t);

/// A statement, its inputs and the expected dst. Of a statement with computed scales also these.
struct sample {
    quantization q;
    oracle::inputs in;
    std::vector<std::byte> expected; // with guarded_buffer::pattern in the gaps
    std::vector<std::byte> expected_scales, expected_zero_points;

    sample() = default;
    /// `expected` is computed by the oracle.
    sample(quantization statement, oracle::inputs inputs);
};

struct placement {
    guarded_buffer::place where = guarded_buffer::place::at_back;
    std::size_t src_offset = 0, dst_offset = 0; // bytes
};

/// A sample in guarded memory, which may be run repeatedly.
class guarded_sample {
  public:
    explicit guarded_sample(const sample &s, const placement &p = {});

    /// Runs op. A failure names the element that differs, or the buffer that was overrun.
    testing::AssertionResult computed_right_by(const operation &op);

    /// The buffers, as computed_right_by() passes them.
    arguments arguments_of_run() const;

  private:
    const sample &sample_;
    guarded_buffer src_, scales_, zero_points_, second_scales_, dst_, computed_scales_, computed_zero_points_;
};

/// Runs several variants, with buffers that end before an inaccessible page and with buffers that begin after one.
testing::AssertionResult computed_right(const sample &s, const std::vector<variant> &variants);

/// All variants that compute the statement. onednn is among them where it accepts a statement that it need not, and
/// where it must.
std::vector<variant> variants_for(const sample &s);

/// Whether dst is as expected. Any NaN equals any NaN, and fpmath mode `any` allows the results of its rule.
testing::AssertionResult result_right(const sample &s, const std::vector<std::byte> &dst);

/// The statement in one line.
std::string describe(const quantization &q);

} // namespace dynquant::test

// A statement computed through the direct API in guarded buffers, and compared with the oracle.
#pragma once

#include <string>

#include <gtest/gtest.h>

#include "elements.hpp"
#include "guarded_buffer.hpp"
#include "oracle.hpp"
#include "variants.hpp"

namespace dynquant::test {

/// Values as the bytes of a buffer.
template <typename T>
std::vector<std::byte> bytes_of(const std::vector<T> &values) {
    const auto bytes = std::as_bytes(std::span(values));
    return {bytes.begin(), bytes.end()};
}

/// The elements from the first to the last, gaps included.
std::size_t bytes_spanned(const tensor &t);

/// What to run and what has to come out.
struct sample {
    quantization q;
    oracle::inputs in;
    std::vector<std::byte> expected; // with guarded_buffer::pattern in the gaps

    sample() = default;
    /// Asks the oracle.
    sample(quantization statement, oracle::inputs inputs);
};

struct placement {
    guarded_buffer::place where = guarded_buffer::place::at_back;
    std::size_t src_offset = 0, dst_offset = 0; // bytes
};

/// A sample in memory, in which it is run again and again.
class guarded_sample {
  public:
    explicit guarded_sample(const sample &s, const placement &p = {});

    /// Runs op, and says where the result differs or what else was touched.
    testing::AssertionResult computed_right_by(const operation &op);

  private:
    const sample &sample_;
    guarded_buffer src_, scales_, zero_points_, second_scales_, bias_, dst_;
};

/// Runs several variants, with buffers that end at a page without access and with ones that begin behind one.
testing::AssertionResult computed_right(const sample &s, const std::vector<variant> &variants);

/// All variants that compute the statement: those that must, and onednn where it takes it all the same.
std::vector<variant> variants_for(const sample &s);

/// Whether dst is as expected: any NaN equals any NaN, and fpmath mode `any` is a rule.
testing::AssertionResult result_right(const sample &s, const std::vector<std::byte> &dst);

/// The statement in a line.
std::string describe(const quantization &q);

} // namespace dynquant::test

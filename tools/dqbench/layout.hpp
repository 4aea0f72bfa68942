// A tensor's layout in memory, in the user's notation.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "dynquant/quantization.hpp"

namespace dqbench {

/// The strides of a dense tensor whose dims lie in this order, outermost first. Throws usage_error on overflow, which
/// says what was given.
dynquant::dims dense_strides(
        const dynquant::dims &extents, const std::vector<std::size_t> &order, const std::string &given);

/// Whether it is a tag of oneDNN with blocks, as nChw16c and OIhw4i16o4i are.
bool is_blocked(std::string_view tag);

/// One of
///   any             the library chooses (dst only);
///   acdb            a permutation of the dims' letters, outermost first: dense; for that rank only;
///   nchw, nhwc      oneDNN's names of them, for activations, weights (hwio) and recurrent networks (tnc);
///   abx, axb, xba   a pattern for every rank: x stands for the other letters in order, and letters beyond the
///                   rank are ignored;
///   strides:12x4x1  strides in elements.
class layout {
  public:
    /// abx, dense row-major.
    layout() = default;

    /// Throws usage_error.
    static layout parse(std::string_view text);

    bool is_any() const { return text_ == "any"; }

    /// Throws usage_error when the layout is for another rank or is `any`.
    dynquant::dims strides_for(const dynquant::dims &extents) const;

    const std::string &to_string() const { return text_; }

    bool operator==(const layout &) const = default;

  private:
    std::string text_ = "abx";
};

} // namespace dqbench

// What the windows of a convolution of floats meet. The taps of a window lie each a whole number of positions on in a
// copy of x with its padding, so that a vector of adjacent positions is one load for each tap.
#pragma once

#include <cstdint>
#include <vector>

#include "layers/conv/window.hpp"

namespace dynquant::layers {

/// Of each dimension the copy has one phase for all taps whose distances leave the same remainder by the stride, or one
/// for each tap, as im2col has, where that is smaller; along lines also where the lanes between them, which it saves,
/// take longer. A vector holds positions of one line of y. Where few of them would fill it, the lines of a plane, the
/// last two dimensions, are joined: vectors go on through the elements between lines.
class float_windows {
  public:
    /// channels, filters: of a group. lanes: positions of a vector.
    float_windows(const window &w, std::int64_t channels, std::int64_t filters, std::int64_t lanes);

    /// Zeros, for the padding; copy() leaves them.
    void clear(std::int64_t channels, float *to) const;
    /// Copies some channels of an image.
    void copy(const float *x, std::int64_t channels, float *to) const;
    std::int64_t channel_elements() const { return channel_elements_; } // of a copy
    std::int64_t copied_elements(std::int64_t channels) const { return channels * channel_elements_ + lanes_; }

    /// What tap k of the first lane of vector v meets in the copy of a group: element starts[v] + offsets[k]. k:
    /// channel by channel the taps.
    const std::vector<std::int64_t> &starts() const { return starts_; }
    const std::vector<std::int64_t> &offsets() const { return offsets_; }

    bool are_joined() const { return are_joined_; }
    /// A line of y has so many, unless lines are joined.
    std::int64_t vectors_of_line() const { return line_lanes_ / lanes_; }
    /// The position in the first lane of each vector or, where lines are joined, how many lanes come before it.
    const std::vector<std::int64_t> &places() const { return places_; }
    /// Positions of y that lie in some vectors: they are adjacent.
    struct positions {
        std::int64_t begin, end;
    };
    positions of_vectors(std::int64_t begin, std::int64_t end) const;
    /// Copies them from all lanes of these vectors, of joined lines, in several channels, which are strides apart.
    void pick(const float *lanes, std::int64_t begin, std::int64_t end, std::int64_t channels, std::int64_t stride,
            float *to, std::int64_t to_stride) const;

    /// Fills a row-major matrix whose columns are the positions of y and whose rows are those of offsets(), what the
    /// taps meet: im2col.
    void gather(const float *copied, float *to) const;

  private:
    /// The lane in which a line of y begins.
    std::int64_t lane_of(std::int64_t line) const { return line / lines_ * plane_lanes_ + line % lines_ * line_lanes_; }
    /// The position that lies in a lane, or the next one.
    std::int64_t position_at(std::int64_t lane) const;

    window w_;
    std::int64_t lanes_, phase_elements_, channel_elements_, lines_; // lines_: of a plane
    std::int64_t line_lanes_, plane_lanes_;                          // from line to line, and from plane to plane
    std::vector<std::int64_t> starts_, offsets_, places_;
    bool are_joined_;
    /// Where the lines of a phase of the copy begin that are not padding, and what they are copied from.
    struct line {
        std::int64_t of_x, of_copy;
    };
    std::vector<line> lines_of_x_;
    /// Along lines: elements [begin, end) of the copy lie in x, the first of them at `first`.
    struct phase {
        std::int64_t begin, end, first;
    };
    std::vector<phase> phases_;
    bool has_padding_ = false;   // the copy
    std::int64_t line_elements_; // of it
};

} // namespace dynquant::layers

// Constants that broadcast along the channels of a value.
#pragma once

#include "model/graph.hpp"

namespace dynquant::models {

/// Whether a constant of this shape has one element, or one for each channel of the value, in shapes that broadcast.
inline bool meets_channels(const dims &constant, const dims &value, std::size_t axis) {
    if (constant.size() > value.size()) return false;
    const auto skipped = value.size() - constant.size();
    for (std::size_t d = 0; d < constant.size(); ++d)
        if (constant[d] != 1 && (d + skipped != axis || constant[d] != value[axis])) return false;
    return true;
}

} // namespace dynquant::models

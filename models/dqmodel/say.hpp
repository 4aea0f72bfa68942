// What dqmodel prints.
#pragma once

#include <cstdio>

#include "quantization/text.hpp"

namespace dqmodel {

/// A line on stdout. Names come from files, and could tell a terminal anything.
template <typename... Parts>
void say(const Parts &...parts) {
    std::puts(dynquant::printable(dynquant::concat(parts...)).c_str());
}

} // namespace dqmodel

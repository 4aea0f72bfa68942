// Printing to stdout.
#pragma once

#include <cstdio>

#include "quantization/text.hpp"

namespace dqmodel {

/// Prints a line, escaped: names come from files and could have escape sequences for the terminal.
template <typename... Parts>
void say(const Parts &...parts) {
    std::puts(dynquant::printable(dynquant::concat(parts...)).c_str());
}

} // namespace dqmodel

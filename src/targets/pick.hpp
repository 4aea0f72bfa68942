// The one way to choose code for the processor.
#pragma once

#include <initializer_list>

#include "targets/features.hpp"

namespace dynquant::targets {

/// Code and what it needs.
template <typename Code>
struct candidate {
    features needs;
    Code code;
};

/// The first whose features are there; the last needs none.
template <typename Code>
Code pick(features available, std::initializer_list<candidate<Code>> candidates) {
    const auto *c = candidates.begin();
    while (!has(available, c->needs))
        ++c;
    return c->code;
}

} // namespace dynquant::targets

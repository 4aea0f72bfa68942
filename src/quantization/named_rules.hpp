// The rules of computed scales by name, for front-ends and dqbench.
#pragma once

#include <span>
#include <string>
#include <vector>

#include "dynquant/scale_rule.hpp"

namespace dynquant {

struct named_rule {
    const char *name;
    scale_rule rule;
};

/// absmax and minmax: scale_rule's defaults with that range. Then the presets.
std::span<const named_rule> named_rules();

/// Null for an unknown name.
const scale_rule *find_rule(const std::string &name);

} // namespace dynquant

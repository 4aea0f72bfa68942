#pragma once

#include <string>

namespace dqbench {

/// The text of --help.
std::string help_text();

} // namespace dqbench

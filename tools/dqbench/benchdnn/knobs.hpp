// benchdnn's options that dqbench has under another name, need not have, or refuses. README.md has the table.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace dqbench::benchdnn {

/// What an option of benchdnn comes to.
struct translation {
    const char *option = nullptr; // dqbench's option, without dashes; null: it changes nothing
    std::string value = {};       // the option's
    std::string note = {};        // a line for the user; empty: none is needed
};

/// Translates an option, whose name has no dashes. None: benchdnn has no such option, or dqbench has it as it is.
/// Throws usage_error, which says what to write instead.
std::optional<translation> translate(std::string_view name, const std::string *value);

/// Throws usage_error if benchdnn has a driver of this name that dqbench has not.
void refuse_other_drivers(std::string_view name);

/// Names for the search for near spellings.
std::vector<std::string> knob_names();

} // namespace dqbench::benchdnn

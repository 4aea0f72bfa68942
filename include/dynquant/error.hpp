// The one exception that dynquant throws, except from its oneDNN-shaped API: see dynquant/graph.hpp.
#pragma once

#include <stdexcept>
#include <string>

namespace dynquant {

/// Why a call was refused. The names are those of oneDNN's statuses.
enum class status {
    invalid_arguments,
    invalid_shape,
    invalid_data_type,
    unimplemented, // valid, but this library, processor or kernel cannot compute it
    out_of_memory,
    runtime_error,
};

/// "unknown" for a value that is no enumerator.
inline const char *to_string(status value) {
    switch (value) {
        case status::invalid_arguments: return "invalid_arguments";
        case status::invalid_shape: return "invalid_shape";
        case status::invalid_data_type: return "invalid_data_type";
        case status::unimplemented: return "unimplemented";
        case status::out_of_memory: return "out_of_memory";
        case status::runtime_error: return "runtime_error";
    }
    return "unknown";
}

/// What went wrong: a status, and in what() a sentence that names the statement, the attribute or argument, what was
/// expected and what was given.
class error : public std::runtime_error {
  public:
    error(dynquant::status why, const std::string &text)
        : std::runtime_error(text)
        , status(why) {}

    dynquant::status status;
};

} // namespace dynquant

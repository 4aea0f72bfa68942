// The main function of a program: how it ends.
#pragma once

#include <stdexcept>

namespace command_line {

enum exit_status { success, failure, wrong_usage };

/// The command line is wrong.
struct usage_error : std::runtime_error {
    using std::runtime_error::runtime_error;
};

/// Prints `NAME: text` as one line to stderr, without a buffer. Control characters of the user's text are escaped.
void print_error(const char *name, const char *text);

/// Calls body(argc, argv), flushes stdout, and returns the exit status. What body throws is one line `NAME: text` on
/// stderr, with status 2 for usage_error and else 1. Output that stdout does not take is a line on stderr, too, and a
/// failure where body succeeds. Allocates nothing itself, so that a program without memory ends with a message.
int run(const char *name, int (*body)(int argc, char **argv), int argc, char **argv) noexcept;

} // namespace command_line

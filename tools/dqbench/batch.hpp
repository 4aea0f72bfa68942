// Files that the user gives, and the words of a batch file.
#pragma once

#include <filesystem>
#include <string>
#include <vector>

namespace dqbench {

/// The bytes of a batch or JSON file, at most 64 MiB. kind: for the message. Throws usage_error when it cannot be read.
std::string contents_of(const char *kind, const std::filesystem::path &file);

struct batch_word {
    std::string text;
    int line;
};

/// Words are separated by blanks. # begins a comment. A comma at the end of a word, with or without a
/// backslash after it, continues a list. Throws usage_error when the file cannot be read.
std::vector<batch_word> read_batch_file(const std::filesystem::path &file);

} // namespace dqbench

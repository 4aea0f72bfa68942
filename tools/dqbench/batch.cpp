#include "batch.hpp"

#include <cerrno>
#include <cstring>
#include <fstream>
#include <sstream>

#include "quantization/text.hpp"
#include "text_parsing.hpp"

namespace dqbench {

std::vector<batch_word> read_batch_file(const std::filesystem::path &file) {
    errno = 0;
    std::ifstream stream(file);
    const auto fail = [&](const char *why) {
        throw usage_error(dynquant::concat("cannot read batch file '", file.string(), "': ", why));
    };
    if (std::filesystem::is_directory(file)) fail("it is a directory");
    if (!stream) fail(errno ? std::strerror(errno) : "unknown error");

    std::vector<batch_word> words;
    std::string line;
    for (int number = 1; std::getline(stream, line); ++number) {
        std::istringstream text(line.substr(0, line.find('#')));
        for (std::string word; text >> word;) {
            if (word == "\\") continue;
            if (!words.empty() && words.back().text.back() == ',')
                words.back().text += word;
            else
                words.push_back({word, number});
        }
    }
    if (stream.bad()) fail("the reading failed");
    return words;
}

} // namespace dqbench

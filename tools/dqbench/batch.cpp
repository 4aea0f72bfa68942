#include "batch.hpp"

#include <cerrno>
#include <cstring>
#include <fstream>
#include <sstream>

#include "quantization/text.hpp"
#include "text_parsing.hpp"

namespace dqbench {

std::string contents_of(const char *kind, const std::filesystem::path &file) {
    constexpr std::size_t most = 64 << 20; // oneDNN's largest graph has 0.2 MiB
    const auto fail = [&](const std::string &why) {
        throw usage_error(dynquant::concat("cannot read ", kind, " file '", file.string(), "': ", why));
    };
    errno = 0;
    std::ifstream stream(file, std::ios::binary);
    if (std::filesystem::is_directory(file)) fail("it is a directory");
    if (!stream) fail(errno ? std::strerror(errno) : "unknown error");
    std::string text;
    std::vector<char> chunk(1 << 16);
    do {
        stream.read(chunk.data(), static_cast<std::streamsize>(chunk.size()));
        text.append(chunk.data(), static_cast<std::size_t>(stream.gcount()));
        if (text.size() > most) fail(dynquant::concat("expected at most ", most, " bytes")); // /dev/zero has no end
    } while (stream);
    if (stream.bad()) fail("the reading failed");
    return text;
}

std::vector<batch_word> read_batch_file(const std::filesystem::path &file) {
    std::istringstream stream(contents_of("batch", file));
    std::vector<batch_word> words;
    std::string line;
    bool continues = false; // the last word ended in a backslash
    for (int number = 1; std::getline(stream, line); ++number) {
        std::istringstream text(line.substr(0, line.find('#')));
        for (std::string word; text >> word;) {
            if (word == "\\") continue;
            const bool joined = !words.empty() && (continues || words.back().text.back() == ',');
            continues = word.back() == '\\' && (text >> std::ws).eof();
            if (continues) word.pop_back();
            if (joined)
                words.back().text += word;
            else
                words.push_back({word, number});
        }
    }
    return words;
}

} // namespace dqbench

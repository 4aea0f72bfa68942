// Arguments of `dqbench verify`, one a line, with --list: they are refused by a message, or cells are listed.
#include <sstream>
#include <vector>

#include "command_line/run.hpp"
#include "target.hpp"
#include "verify/command.hpp"

namespace {

std::vector<std::string> lines_of(const std::string &text) {
    std::vector<std::string> lines;
    std::istringstream from(text);
    for (std::string line; std::getline(from, line);)
        lines.push_back(line.substr(0, line.find('\0')));
    return lines;
}

} // namespace

int LLVMFuzzerTestOneInput(const std::uint8_t *data, std::size_t size) {
    auto arguments = lines_of(std::string(reinterpret_cast<const char *>(data), size));
    // --list in place of hours, and before the others: the last could take it as its value.
    arguments.insert(arguments.begin(), {"verify", "--list"});
    std::vector<char *> argv;
    for (auto &each : arguments)
        argv.push_back(each.data());
    try {
        dqbench::verify::run(static_cast<int>(argv.size()), argv.data());
    } catch (const command_line::usage_error &e) {
        fuzz::expect(std::string(e.what()).size() > 5, "expected a message");
    }
    return 0;
}

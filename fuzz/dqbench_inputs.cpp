// What dqbench reads: a batch file (the first byte is 'b') or a graph in JSON ('j'). Each is refused by a message or
// gives jobs that say how to run them again.
#include <sstream>

#include "command_line/run.hpp"
#include "reader.hpp"
#include "target.hpp"

namespace {

void read(const std::vector<std::string> &arguments) {
    dqbench::reader input("/nowhere");
    input.read_arguments(arguments);
    for (const auto &job : input.jobs()) {
        fuzz::expect(!dqbench::repro(job).empty(), "expected arguments that reproduce a job");
        if (!job.unsupported.empty() || input.jobs().size() > 50) continue;
        dqbench::reader again("/nowhere");
        std::vector<std::string> parts;
        std::istringstream from(dqbench::repro(job));
        for (std::string part; from >> part;)
            parts.push_back(part);
        again.read_arguments(parts);
        fuzz::expect(again.jobs().size() == 1 && again.jobs()[0].what == job.what,
                "expected the job again of " + dqbench::repro(job));
    }
}

} // namespace

int LLVMFuzzerTestOneInput(const std::uint8_t *data, std::size_t size) {
    if (size == 0) return -1;
    const std::string text(reinterpret_cast<const char *>(data + 1), size - 1);
    try {
        const fuzz::memory_file file(text);
        switch (data[0]) {
            case 'b': read({"--mode=L", "--batch=" + file.path()}); break;
            case 'j': read({"--mode=L", "--case=" + file.path()}); break;
            default: return -1;
        }
    } catch (const command_line::usage_error &e) {
        fuzz::expect(std::string(e.what()).size() > 5, "expected a message");
    }
    return 0;
}

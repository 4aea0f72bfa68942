// What dqbench reads: a batch file (the first byte is 'b') or a graph in JSON ('j'). Each is refused by a message or
// gives jobs that say how to run them again.
#include <fstream>
#include <sstream>

#include "command_line/run.hpp"
#include "reader.hpp"
#include "support/scratch_folder.hpp"
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
    // Alone in its folder, as dqbench looks for names beside a batch file: beside one of /proc/self/fd it finds the
    // descriptors of the process, and waits for a pipe.
    static const dynquant::test::scratch_folder folder;
    const std::string file = folder.path / "input";
    std::ofstream to(file, std::ios::binary);
    to.write(reinterpret_cast<const char *>(data + 1), static_cast<std::streamsize>(size - 1));
    to.close();
    fuzz::expect(static_cast<bool>(to), "expected to write " + file);
    try {
        switch (data[0]) {
            case 'b': read({"--mode=L", "--batch=" + file}); break;
            case 'j': read({"--mode=L", "--case=" + file}); break;
            default: return -1;
        }
    } catch (const command_line::usage_error &e) {
        fuzz::expect(std::string(e.what()).size() > 5, "expected a message");
    }
    return 0;
}

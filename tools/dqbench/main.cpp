// dqbench checks and measures dynquant's operators, like oneDNN's benchdnn. README.md is its manual, help.cpp its
// --help.
//
// Start at run() below: reader.hpp turns arguments and batch files into jobs, runner.hpp runs one, report.hpp prints
// it.
// - options.cpp: the options in one table; test_case.hpp: what they set; statement.hpp: the case with its layouts
// resolved.
// - check.cpp compares results with the reference kernel; timing.cpp measures.
// - peers/: other libraries on the same inputs; flat/: one loop over their bytes;
// json_graph/: oneDNN Graph's JSON; benchdnn/: benchdnn's options and its reorder driver; layers/: chains of its ops
// around a MatMul.
//
// The unit tests link all of it but this file.
#include <cstdio>
#include <cstdlib>
#include <string_view>

#include "dynquant/version.hpp"
#include "help.hpp"
#include "layers/command.hpp"
#include "quantization/text.hpp"
#include "reader.hpp"
#include "report.hpp"
#include "runner.hpp"
#include "text_parsing.hpp"
#include "verify/command.hpp"

namespace {

using namespace dqbench;

/// The folder installed with this program, else the one in the source tree. Both are found from the program's place: a
/// path of the source tree in the program would make builds in different folders differ.
std::filesystem::path own_inputs() {
    std::error_code unknown;
    const auto folder = std::filesystem::read_symlink("/proc/self/exe", unknown).parent_path();
    const auto installed = (folder / DQBENCH_INSTALLED_INPUTS).lexically_normal();
    if (std::filesystem::is_directory(installed, unknown)) return installed;
    return (folder / DQBENCH_SOURCE_INPUTS).lexically_normal();
}

/// $DQBENCH_INPUTS, if it is set, and dqbench's own folder.
std::vector<std::filesystem::path> inputs_folders() {
    const char *given = std::getenv("DQBENCH_INPUTS");
    if (given && *given) return {given, own_inputs()};
    return {own_inputs()};
}

int run(int argc, char **argv) {
    if (argc > 1 && std::string_view(argv[1]) == "verify") return verify::run(argc - 1, argv + 1);
    const auto folders = inputs_folders();
    if (argc > 1 && std::string_view(argv[1]) == "layers") return layers::run(argc - 1, argv + 1, folders);
    reader input(folders.front(), folders.back());
    input.read_arguments({argv + 1, argv + argc});
    if (input.help()) {
        std::fputs(help_text().c_str(), stdout);
        return command_line::success;
    }
    if (input.version()) {
        std::printf("dqbench %d.%d.%d\n", DYNQUANT_VERSION_MAJOR, DYNQUANT_VERSION_MINOR, DYNQUANT_VERSION_PATCH);
        return command_line::success;
    }
    if (input.problems() == 0)
        throw usage_error("expected a problem such as 8x64x56x56, --batch=FILE or --case=FILE, given none; "
                          "--help explains");

    for (const auto &note : input.notes())
        std::puts(note.c_str());
    std::size_t runs = 0, index = 0;
    for (const auto &job : input.jobs())
        runs += job.repeats;
    report output(runs, input.run());
    phase_times times;
    for (const auto &job : input.jobs())
        for (std::size_t i = 0; i < job.repeats; ++i, ++index) {
            output.announce(job);
            const auto start = clock::now();
            outcome result {case_state::skipped, "before --start"};
            if (!job.unsupported.empty())
                result.reason = dynquant::concat("not supported: ", job.unsupported);
            else if (index >= input.run().start)
                result = run_case(job.what, times);
            output.print(index, job, result, milliseconds_since(start));
        }
    output.print_summary(times);
    return output.has_failures() ? command_line::failure : command_line::success;
}

} // namespace

int main(int argc, char **argv) {
    return command_line::run("dqbench", run, argc, argv);
}

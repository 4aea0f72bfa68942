// What dqbench reads: a batch file (the first byte is 'b') or a graph in JSON ('j'). Each is refused by a message or
// gives jobs that say how to run them again.
#include <filesystem>
#include <fstream>
#include <sstream>

#include "command_line/run.hpp"
#include "reader.hpp"
#include "target.hpp"

namespace {

/// The only file of a temporary folder. dqbench looks for names beside a batch file: beside one of /proc/self/fd it
/// finds the descriptors of the process, and waits for a pipe.
class input_file {
  public:
    input_file() {
        std::string pattern = (std::filesystem::temp_directory_path() / "fuzz.XXXXXX").string();
        folder_ = mkdtemp(pattern.data());
    }
    ~input_file() { std::filesystem::remove_all(folder_); }
    input_file(const input_file &) = delete;
    input_file &operator=(const input_file &) = delete;

    void write(const std::string &bytes) const {
        std::ofstream to(path(), std::ios::binary);
        fuzz::expect(static_cast<bool>((to << bytes).flush()), "expected to write " + path());
    }
    std::string path() const { return (folder_ / "input").string(); }

  private:
    std::filesystem::path folder_;
};

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
    static const input_file file;
    file.write({reinterpret_cast<const char *>(data + 1), size - 1});
    try {
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

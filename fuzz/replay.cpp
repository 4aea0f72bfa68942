// Runs a target on files, and on the files of folders, in place of libFuzzer.
#include <algorithm>
#include <filesystem>
#include <fstream>
#include <iostream>
#include <iterator>
#include <vector>

#include "target.hpp"

int main(int argc, char **argv) {
    namespace fs = std::filesystem;
    std::vector<fs::path> files;
    for (int i = 1; i < argc; ++i) {
        if (fs::is_directory(argv[i]))
            std::copy(fs::directory_iterator(argv[i]), {}, std::back_inserter(files));
        else
            files.emplace_back(argv[i]);
    }
    std::ranges::sort(files);
    for (const auto &file : files) {
        std::ifstream from(file, std::ios::binary);
        fuzz::expect(from.good(), "expected a readable file, given " + file.string());
        const std::vector<char> bytes(std::istreambuf_iterator<char>(from), {});
        std::cerr << file.string() << '\n'; // before it can fail
        LLVMFuzzerTestOneInput(reinterpret_cast<const std::uint8_t *>(bytes.data()), bytes.size());
    }
    std::cout << files.size() << " inputs\n";
    fuzz::expect(!files.empty(), "expected files or folders with files");
}

// What the fuzz targets share. Each is a file with LLVMFuzzerTestOneInput(); what it finds ends the process.
#pragma once

#include <sys/mman.h>
#include <unistd.h>

#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <span>
#include <string>
#include <string_view>

/// One input. It returns 0, or -1 for what is not worth keeping in a corpus: https://llvm.org/docs/LibFuzzer.html
extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t *data, std::size_t size);

namespace fuzz {

inline void expect(bool condition, const std::string &message) {
    if (condition) return;
    std::fprintf(stderr, "fuzz: %s\n", message.c_str());
    std::abort();
}

/// A file in memory, for readers that take a path.
class memory_file {
  public:
    explicit memory_file(std::string_view bytes)
        : descriptor_(memfd_create("fuzz", 0)) {
        expect(descriptor_ >= 0 && write(descriptor_, bytes.data(), bytes.size()) == static_cast<ssize_t>(bytes.size()),
                "expected a file in memory");
    }
    ~memory_file() { close(descriptor_); }
    memory_file(const memory_file &) = delete;
    memory_file &operator=(const memory_file &) = delete;

    std::string path() const { return "/proc/self/fd/" + std::to_string(descriptor_); }

  private:
    int descriptor_;
};

} // namespace fuzz

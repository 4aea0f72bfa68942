// What the fuzz targets share. Each is a file with LLVMFuzzerTestOneInput(); what it finds ends the process.
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <span>
#include <string>

/// One input. It returns 0, or -1 for what is not worth keeping in a corpus: https://llvm.org/docs/LibFuzzer.html
extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t *data, std::size_t size);

namespace fuzz {

inline void expect(bool condition, const std::string &message) {
    if (condition) return;
    std::fprintf(stderr, "fuzz: %s\n", message.c_str());
    std::abort();
}

} // namespace fuzz

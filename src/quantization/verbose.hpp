// Verbose lines, in oneDNN's format:
//   dynquant_verbose,primitive,exec,cpu,quantize,native:avx512,undef,<tensors>,<attributes>,<name>,<dims>,<ms>
#pragma once

#include <chrono>
#include <string>

#include "dynquant/quantization.hpp"

namespace dynquant::verbose {

/// Everything between the event and the time.
std::string describe(const quantization &q, const operation_info &info, const std::string &name);

void print(const char *event, const std::string &description, double milliseconds);

template <typename F>
double milliseconds(F &&f) {
    const auto start = std::chrono::steady_clock::now();
    f();
    return std::chrono::duration<double, std::milli>(std::chrono::steady_clock::now() - start).count();
}

} // namespace dynquant::verbose

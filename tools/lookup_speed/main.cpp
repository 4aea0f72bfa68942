// Measures lookups in tables of 256 bytes by each instruction set, with data about the size of the L2 cache. The limit
// is a loop that loads and stores the same vectors (limit/). Prints a table for models/docs/prequantized_speed.md.
#include <algorithm>
#include <chrono>
#include <cstdio>
#include <vector>

#include "command_line/run.hpp"
#include "layers/lookup/lookup.hpp"
#include "limit/limit.hpp"

namespace lookup_speed {
namespace {

using namespace dynquant::lookup;

/// The lookup of an instruction set, and a copy as its limit.
struct method {
    const char *name;
    look_up_function look_up, copy;
};

std::vector<method> methods() {
    using namespace dynquant::targets;
    std::vector<method> result;
#if defined(__x86_64__)
    const auto available = of_processor();
    if (has(available, avx512_vbmi)) result.push_back({"AVX-512 with VBMI", avx512_vbmi_look_up, avx512_copy});
    if (has(available, avx512)) result.push_back({"AVX-512", avx512_look_up, avx512_copy});
    if (has(available, avx2)) result.push_back({"AVX2", avx2_look_up, avx2_copy});
#endif
    result.push_back({"scalar", scalar_look_up, scalar_copy});
    return result;
}

struct buffers {
    explicit buffers(std::int64_t count)
        : src(static_cast<std::size_t>(count))
        , dst(src.size()) {
        for (std::size_t i = 0; i < src.size(); ++i)
            src[i] = static_cast<std::uint8_t>(i * 167 + i / 256);
        for (std::size_t i = 0; i < values.size(); ++i)
            values[i] = static_cast<std::uint8_t>(i * 89 + 41);
    }

    table values;
    std::vector<std::uint8_t> src, dst;
};

double nanoseconds(look_up_function function, buffers &b) {
    const auto start = std::chrono::steady_clock::now();
    function(b.values, b.src.data(), b.dst.data(), static_cast<std::int64_t>(b.src.size()));
    return std::chrono::duration<double, std::nano>(std::chrono::steady_clock::now() - start).count();
}

double median(std::vector<double> values) {
    std::nth_element(values.begin(), values.begin() + std::ssize(values) / 2, values.end());
    return values[values.size() / 2];
}

/// Prints the median of many runs. Lookup and copy run in turns, so that both see the same load on the machine.
void print_cell(const method &m, std::int64_t count) {
    constexpr int runs = 501;
    buffers b(count);
    std::vector<double> looking_up, copying;
    looking_up.reserve(runs);
    copying.reserve(runs);
    for (int i = 0; i < runs; ++i) {
        looking_up.push_back(nanoseconds(m.look_up, b));
        copying.push_back(nanoseconds(m.copy, b));
    }
    const auto time = median(looking_up), limit = median(copying);
    const auto bytes = static_cast<double>(count);
    std::printf(" %.3g, %.2f of %.3g |", bytes / time, limit / time, bytes / limit);
}

void print_all() {
    std::puts("| Gbyte/s, of the limit | 128 Ki | 512 Ki | 1 Mi |\n|---|---|---|---|");
    for (const auto &m : methods()) {
        std::printf("| %s |", m.name);
        for (const std::int64_t count : {1 << 17, 1 << 19, 1 << 20})
            print_cell(m, count);
        std::puts("");
    }
}

} // namespace
} // namespace lookup_speed

int main(int argc, char **argv) {
    const auto body = [](int, char **) -> int {
        lookup_speed::print_all();
        return command_line::success;
    };
    return command_line::run("lookup_speed", body, argc, argv);
}

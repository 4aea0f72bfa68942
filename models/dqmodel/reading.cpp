#include "reading.hpp"

#include <algorithm>
#include <atomic>
#include <cstdint>
#include <cstring>

#include <tbb/task_arena.h>

#include "elements/ceil_div.hpp"
#include "parallel/executor.hpp"
#include "parallel/parallel.hpp"
#include "timing.hpp"

namespace dqmodel {
namespace {

namespace parallel = dynquant::parallel;

constexpr std::size_t cache_line = 64;

/// Loads one word of each cache line, which fetches the whole line.
std::uint64_t read(const std::byte *bytes, std::size_t count) {
    std::uint64_t result = 0;
    for (std::size_t i = 0; i + sizeof result <= count; i += cache_line) {
        std::uint64_t word;
        std::memcpy(&word, bytes + i, sizeof word);
        result ^= word;
    }
    return result;
}

} // namespace

double microseconds_to_read(std::span<const std::byte> bytes, int threads, int repeat) {
    threads = std::min(threads, parallel::machine_threads());
    tbb::task_arena arena(threads > 0 ? threads : tbb::task_arena::automatic);
    std::atomic<std::uint64_t> result {0}; // keeps the compiler from removing the loads
    const auto read_all = [&] {
        const auto size = static_cast<std::int64_t>(bytes.size());
        parallel::for_each_part(
                dynquant::ceil_div(size, cache_line), parallel::parts_for(size, threads), [&](parallel::range part) {
                    const auto begin = static_cast<std::size_t>(part.begin) * cache_line;
                    const auto end = std::min(static_cast<std::size_t>(part.end) * cache_line, bytes.size());
                    result ^= read(bytes.data() + begin, end - begin);
                });
    };
    return times_of(repeat, [&] { arena.execute(read_all); }).median;
}

} // namespace dqmodel

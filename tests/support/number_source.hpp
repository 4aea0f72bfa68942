// What random tests draw: the numbers of a seed, or the decisions of a fuzzer.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <random>
#include <span>
#include <vector>

namespace dynquant::test {

class number_source {
  public:
    explicit number_source(std::uint64_t seed)
        : engine_(seed) {}
    /// The first four bytes are a seed. within() takes its numbers from the others as long as they last, as many bytes
    /// as its range needs, so that a fuzzer that changes a byte changes a decision; bits are the seed's.
    explicit number_source(std::span<const std::uint8_t> tape)
        : engine_(take(tape, 4))
        , tape_(tape) {}

    std::uint64_t bits() { return engine_(); }
    std::int64_t within(std::int64_t lowest, std::int64_t highest) {
        const auto most = static_cast<std::uint64_t>(highest) - static_cast<std::uint64_t>(lowest); // modulo 2^64
        auto drawn = tape_.empty() ? bits() : take(tape_, bytes_for(most));
        if (most != ~std::uint64_t {0}) drawn %= most + 1;
        return static_cast<std::int64_t>(static_cast<std::uint64_t>(lowest) + drawn);
    }
    bool chance(int percent) { return within(1, 100) <= percent; }

    template <typename T>
    T one_of(const std::vector<T> &values) {
        return values[static_cast<std::size_t>(within(0, static_cast<std::int64_t>(values.size()) - 1))];
    }

  private:
    static std::size_t bytes_for(std::uint64_t most) {
        std::size_t bytes = 0;
        for (; most > 0; most >>= 8)
            ++bytes;
        return bytes;
    }
    static std::uint64_t take(std::span<const std::uint8_t> &from, std::size_t bytes) {
        std::uint64_t value = 0;
        for (const auto byte : from.first(std::min(bytes, from.size())))
            value = value << 8 | byte;
        from = from.subspan(std::min(bytes, from.size()));
        return value;
    }

    std::mt19937_64 engine_;
    std::span<const std::uint8_t> tape_;
};

} // namespace dynquant::test

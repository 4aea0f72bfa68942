// Digests of results: XXH3 of 64 bits (https://xxhash.com) of their bytes.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>

#include "dynquant/quantization.hpp"

namespace dqbench::verify {

using digest = std::uint64_t;

/// Replaces each NaN in a buffer of a float type by one and the same: which NaN an operation gives is promised by
/// nobody. Positive and quiet, without a payload: of f8_e5m2 0x7e; of f8_e4m3 0x7f. Bytes between elements count as
/// elements.
void make_nan_canonical(dynquant::data_type type, std::span<std::byte> buffer);

/// The digest of some buffers, one after the other. The buffers' NaNs become canonical first.
class hasher {
  public:
    hasher();
    ~hasher();
    hasher(const hasher &) = delete;
    hasher &operator=(const hasher &) = delete;

    void add(dynquant::data_type type, std::span<std::byte> buffer);
    void add(digest of_part);
    digest value() const;

  private:
    void *state_;
};

/// 16 hexadecimal digits.
std::string to_string(digest value);

} // namespace dqbench::verify

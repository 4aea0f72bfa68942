// A buffer that detects writes before or after it.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

namespace dqbench {

/// `size` bytes between two guards. Buffer and guards begin filled with the pattern.
class guarded_buffer {
  public:
    /// The first byte lies `misalignment` bytes after a multiple of 64.
    explicit guarded_buffer(std::int64_t size, std::size_t misalignment = 0);
    guarded_buffer(const guarded_buffer &) = delete;
    guarded_buffer &operator=(const guarded_buffer &) = delete;

    std::byte *data() { return data_; }
    const std::byte *data() const { return data_; }
    std::span<std::byte> bytes() { return {data_, size_}; }
    std::span<const std::byte> bytes() const { return {data_, size_}; }

    template <typename Type>
    Type *as() {
        return reinterpret_cast<Type *>(data_);
    }
    template <typename Type>
    const Type *as() const {
        return reinterpret_cast<const Type *>(data_);
    }

    bool guards_intact() const;

    static constexpr std::byte pattern {0xa5};

  private:
    static constexpr std::size_t guard = 256, alignment = 64;

    std::vector<std::byte> memory_;
    std::byte *data_;
    std::size_t size_;
};

} // namespace dqbench

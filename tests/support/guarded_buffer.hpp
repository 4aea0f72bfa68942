// A buffer that detects every access out of bounds: inaccessible pages surround it, and a pattern fills the bytes
// between.
#pragma once

#include <cstddef>
#include <span>
#include <vector>

namespace dynquant::test {

class guarded_buffer {
  public:
    enum class place {
        at_front, // `offset` bytes behind the page that guards the front
        at_back   // `offset` bytes before the page that guards the back
    };

    guarded_buffer(std::size_t size, place where, std::size_t offset = 0);
    ~guarded_buffer();
    guarded_buffer(const guarded_buffer &) = delete;
    guarded_buffer &operator=(const guarded_buffer &) = delete;

    std::byte *data() const { return data_; }
    std::size_t size() const { return size_; }
    std::vector<std::byte> bytes() const;
    void fill(const std::vector<std::byte> &bytes);
    bool holds(const std::vector<std::byte> &bytes) const;

    /// Whether the bytes around the buffer are untouched.
    bool intact() const;

    /// The initial value of every byte of the buffer and around it.
    static constexpr std::byte pattern {0xa5};

  private:
    std::byte *mapping_ = nullptr;
    std::size_t mapped_ = 0;
    std::span<std::byte> accessible_;
    std::byte *data_ = nullptr;
    std::size_t size_;
};

} // namespace dynquant::test

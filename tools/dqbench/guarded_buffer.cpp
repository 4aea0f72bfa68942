#include "guarded_buffer.hpp"

#include <algorithm>

namespace dqbench {

guarded_buffer::guarded_buffer(std::int64_t size, std::size_t misalignment)
    : memory_(static_cast<std::size_t>(size) + 2 * guard + 2 * alignment, pattern)
    , data_(memory_.data() + guard)
    , size_(static_cast<std::size_t>(size)) {
    const auto beyond = reinterpret_cast<std::uintptr_t>(data_) % alignment;
    data_ += (alignment - beyond) % alignment + misalignment % alignment;
}

bool guarded_buffer::guards_intact() const {
    const auto untouched = [](std::byte b) { return b == pattern; };
    const std::byte *begin = memory_.data(), *end = begin + memory_.size(), *first = data_;
    return std::all_of(begin, first, untouched) && std::all_of(first + size_, end, untouched);
}

} // namespace dqbench

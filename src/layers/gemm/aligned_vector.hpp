// Vectors that begin with a cache line.
#pragma once

#include <cstddef>
#include <new>
#include <vector>

namespace dynquant::layers {

/// Memory from the beginning of a cache line on: loads and stores of vectors do not lie in two lines.
template <typename T>
struct in_lines {
    using value_type = T;
    static constexpr std::align_val_t line {64};

    in_lines() = default;
    template <typename Other>
    in_lines(const in_lines<Other> &) {}
    T *allocate(std::size_t count) { return static_cast<T *>(::operator new(count * sizeof(T), line)); }
    void deallocate(T *p, std::size_t) { ::operator delete(p, line); }
    bool operator==(const in_lines &) const = default;
};
template <typename T>
using aligned_vector = std::vector<T, in_lines<T>>;

} // namespace dynquant::layers

// Replaces operator new by one that counts. A separate file, so no compiler pairs its allocation with a caller's
// delete.
#include "counting_new.hpp"

#include <atomic>
#include <cstddef>
#include <cstdlib>
#include <new>

namespace {

std::atomic<long> calls {0};

void *allocate(std::size_t size, std::size_t alignment = alignof(std::max_align_t)) noexcept {
    ++calls;
    return std::aligned_alloc(alignment, (size + alignment - 1) / alignment * alignment);
}

void *or_throw(void *memory) {
    if (!memory) throw std::bad_alloc();
    return memory;
}

} // namespace

long dynquant::test::allocations() {
    return calls;
}

// The other forms of the standard library call these.
void *operator new(std::size_t size) {
    return or_throw(allocate(size));
}
void *operator new(std::size_t size, std::align_val_t alignment) {
    return or_throw(allocate(size, static_cast<std::size_t>(alignment)));
}
void *operator new(std::size_t size, const std::nothrow_t &) noexcept {
    return allocate(size);
}
void *operator new[](std::size_t size) {
    return or_throw(allocate(size));
}
void operator delete(void *memory) noexcept {
    std::free(memory);
}
void operator delete(void *memory, std::size_t) noexcept {
    std::free(memory);
}
void operator delete(void *memory, std::align_val_t) noexcept {
    std::free(memory);
}
void operator delete(void *memory, std::size_t, std::align_val_t) noexcept {
    std::free(memory);
}
void operator delete[](void *memory) noexcept {
    std::free(memory);
}
void operator delete[](void *memory, std::size_t) noexcept {
    std::free(memory);
}

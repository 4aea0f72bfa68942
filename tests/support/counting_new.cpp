// Replaces operator new by one that counts, and fails on request. A separate file, so no compiler pairs its allocation
// with a caller's delete.
#include "support/counting_new.hpp"

#include <atomic>
#include <cstddef>
#include <cstdlib>
#include <new>

namespace {

std::atomic<long> calls {0}, bytes {0}, live {0}, until_failure {-1};

void *allocate(std::size_t size, std::size_t alignment = alignof(std::max_align_t)) noexcept {
    ++calls;
    bytes += static_cast<long>(size);
    if (until_failure >= 0 && until_failure-- == 0) return nullptr;
    ++live;
    return std::aligned_alloc(alignment, (size + alignment - 1) / alignment * alignment);
}

void release(void *memory) noexcept {
    if (memory) --live;
    std::free(memory);
}

void *or_throw(void *memory) {
    if (!memory) throw std::bad_alloc();
    return memory;
}

} // namespace

long dynquant::test::allocations() {
    return calls;
}
long dynquant::test::allocated_bytes() {
    return bytes;
}
long dynquant::test::live_allocations() {
    return live;
}
void dynquant::test::fail_allocation_after(long count) {
    until_failure = count;
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
    release(memory);
}
void operator delete(void *memory, std::size_t) noexcept {
    release(memory);
}
void operator delete(void *memory, std::align_val_t) noexcept {
    release(memory);
}
void operator delete(void *memory, std::size_t, std::align_val_t) noexcept {
    release(memory);
}
void operator delete[](void *memory) noexcept {
    release(memory);
}
void operator delete[](void *memory, std::size_t) noexcept {
    release(memory);
}

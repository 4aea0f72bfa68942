// For LD_PRELOAD: operator new that fails where one library calls it, as the functions below say.
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <mutex>
#include <new>

#include <link.h>

namespace {

std::mutex guard;
std::uintptr_t code_begin = 0, code_end = 0; // of the library
long left = -1;                              // its allocations that succeed; negative: all
bool has_failed = false;

/// Those of the library that live. Never rehashed into operator new: the table has room for all of a test.
constexpr std::size_t room = 1 << 20;
void *living[room];
long count = 0;

std::size_t place_of(void *memory) {
    auto at = reinterpret_cast<std::uintptr_t>(memory) / 16 * 0x9e3779b97f4a7c15 % room;
    while (living[at] && living[at] != memory)
        at = (at + 1) % room;
    return at;
}

void add(void *memory) {
    living[place_of(memory)] = memory;
    ++count;
}

void remove(void *memory) {
    auto at = place_of(memory);
    if (!living[at]) return;
    living[at] = nullptr;
    --count;
    for (at = (at + 1) % room; living[at]; at = (at + 1) % room) { // those behind may move up
        auto *const other = living[at];
        living[at] = nullptr;
        living[place_of(other)] = other;
    }
}

void *allocate(std::size_t size, const void *caller) {
    const auto at = reinterpret_cast<std::uintptr_t>(caller);
    const std::lock_guard lock(guard);
    const bool is_watched = at >= code_begin && at < code_end;
    if (is_watched && left == 0) {
        left = -1;
        has_failed = true;
        return nullptr;
    }
    if (is_watched && left > 0) --left;
    void *const memory = std::malloc(size == 0 ? 1 : size);
    if (memory && is_watched) add(memory);
    return memory;
}

void release(void *memory) {
    if (!memory) return;
    {
        const std::lock_guard lock(guard);
        if (count > 0) remove(memory);
    }
    std::free(memory);
}

int find_code(dl_phdr_info *info, std::size_t, void *name) {
    if (!std::strstr(info->dlpi_name, static_cast<const char *>(name))) return 0;
    for (int i = 0; i < info->dlpi_phnum; ++i) {
        const auto &part = info->dlpi_phdr[i];
        if (part.p_type != PT_LOAD || (part.p_flags & PF_X) == 0) continue;
        code_begin = info->dlpi_addr + part.p_vaddr;
        code_end = code_begin + part.p_memsz;
    }
    return 1;
}

} // namespace

extern "C" {

/// Watches the library whose path has this part. Returns whether it is loaded.
[[gnu::visibility("default")]] int watch(const char *part) {
    code_begin = code_end = 0;
    dl_iterate_phdr(find_code, const_cast<char *>(part));
    return code_end != 0;
}
/// Its allocation after `after` further ones fails, once; negative: none.
[[gnu::visibility("default")]] void fail_after(long after) {
    const std::lock_guard lock(guard);
    left = after;
    has_failed = false;
}
[[gnu::visibility("default")]] int failed() {
    return has_failed;
}
/// How many of its allocations live.
[[gnu::visibility("default")]] long alive() {
    return count;
}

} // extern "C"

[[gnu::visibility("default")]] void *operator new(std::size_t size) {
    void *const memory = allocate(size, __builtin_return_address(0));
    if (!memory) throw std::bad_alloc();
    return memory;
}
[[gnu::visibility("default")]] void *operator new(std::size_t size, const std::nothrow_t &) noexcept {
    return allocate(size, __builtin_return_address(0));
}
[[gnu::visibility("default")]] void operator delete(void *memory) noexcept {
    release(memory);
}
[[gnu::visibility("default")]] void operator delete(void *memory, std::size_t) noexcept {
    release(memory);
}

#include "onnxruntime/provider/heap_pages.hpp"

#include <sys/mman.h>
#include <unistd.h>

#include <cstdint>
#include <cstdlib>
#include <memory>
#include <vector>

namespace dynquant::onnxruntime {

void free_pages_of_heap(std::span<const std::size_t> sizes) {
    const auto page = static_cast<std::size_t>(sysconf(_SC_PAGESIZE));
    std::vector<std::unique_ptr<std::byte, decltype(&std::free)>> blocks;
    for (const auto size : sizes) {
        if (size < 2 * page) continue; // may have no whole page
        blocks.emplace_back(static_cast<std::byte *>(std::malloc(size)), std::free);
        auto *const block = blocks.back().get();
        if (!block) return;
        const auto before = (page - reinterpret_cast<std::uintptr_t>(block) % page) % page;
        madvise(block + before, (size - before) / page * page, MADV_DONTNEED);
    }
}

} // namespace dynquant::onnxruntime

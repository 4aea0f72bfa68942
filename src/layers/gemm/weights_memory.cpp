#include "layers/gemm/weights_memory.hpp"

#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <cstdint>
#include <mutex>
#include <new>

#include "layers/gemm/aligned_vector.hpp"

namespace dynquant::layers {
namespace {

constexpr int collapse = 25; // MADV_COLLAPSE of Linux 6.1, which C libraries need not know
constexpr std::size_t huge_page = std::size_t {2} << 20, region_size = std::size_t {64} << 20;

/// Fewer bytes are the heap's.
constexpr std::size_t min_size = std::size_t {64} << 10;

std::size_t round_up(std::size_t size, std::size_t unit) {
    return (size + unit - 1) / unit * unit;
}

/// Weights that follow each other share huge pages. Pages that nobody has written are not resident.
class region {
  public:
    explicit region(std::size_t size)
        : mapped_(size + huge_page) {
        void *const memory = mmap(nullptr, mapped_, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
        if (memory == MAP_FAILED) throw std::bad_alloc();
        memory_ = static_cast<std::byte *>(memory);
        next_ = small_ = begin_of_unit_from(memory_, huge_page);
        end_ = next_ + size;
        madvise(next_, size, MADV_NOHUGEPAGE); // until make_huge()
    }
    region(const region &) = delete;
    region &operator=(const region &) = delete;
    ~region() { munmap(memory_, mapped_); }

    /// Null where too few are left. Never the same twice.
    std::byte *take(std::size_t size) {
        if (static_cast<std::size_t>(end_ - next_) < size) return nullptr;
        auto *const taken = next_;
        next_ += size;
        make_huge();
        return taken;
    }

    /// Frees the pages that lie within.
    static void free_pages(std::byte *begin, std::size_t size) {
        const auto page = static_cast<std::size_t>(sysconf(_SC_PAGESIZE));
        auto *const first = begin_of_unit_from(begin, page);
        const auto rest = begin + size - first;
        if (rest > 0) madvise(first, static_cast<std::size_t>(rest) / page * page, MADV_DONTNEED);
    }

  private:
    /// What is taken of whole huge pages: one of which only a part is taken would be resident as a whole. A system
    /// without them is slower, not wrong.
    void make_huge() {
        const auto size = static_cast<std::size_t>(next_ - small_) / huge_page * huge_page;
        if (size == 0) return;
        madvise(small_, size, MADV_HUGEPAGE);
        madvise(small_, huge_page, collapse); // which begins with pages that are written
        small_ += size;
    }

    static std::byte *begin_of_unit_from(std::byte *p, std::size_t unit) {
        return p + (unit - reinterpret_cast<std::uintptr_t>(p) % unit) % unit;
    }

    std::size_t mapped_;
    std::byte *memory_, *next_, *end_, *small_; // from small_ on pages are not huge
};

} // namespace

std::shared_ptr<std::byte> allocate_weights(std::size_t size) {
    if (size < min_size) {
        const auto zeros = std::make_shared<aligned_vector<std::byte>>(size);
        return {zeros, zeros->data()};
    }
    size = round_up(size, 64);
    static std::mutex mutex;
    static std::weak_ptr<region> newest;
    const std::lock_guard lock(mutex);
    auto of = newest.lock();
    auto *data = of ? of->take(size) : nullptr;
    if (!data) {
        of = std::make_shared<region>(std::max(region_size, round_up(size, huge_page)));
        data = of->take(size);
        if (size < region_size / 2) newest = of; // else it is full, or nearly
    }
    return {data, [of, size](std::byte *begin) { region::free_pages(begin, size); }};
}

} // namespace dynquant::layers

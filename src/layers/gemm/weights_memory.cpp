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

/// Fewer bytes are the heap's. No page is larger, so that what is freed has both ends of its pages.
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
        next_ = small_ = least_small_ = begin_of_unit_from(memory_, huge_page);
        end_ = next_ + size;
        madvise(next_, size, MADV_NOHUGEPAGE); // until make_huge()
    }
    region(const region &) = delete;
    region &operator=(const region &) = delete;
    ~region() { munmap(memory_, mapped_); }

    /// Null where too few are left.
    std::byte *take(std::size_t size) {
        const std::lock_guard lock(mutex_);
        if (static_cast<std::size_t>(end_ - next_) < size) return nullptr;
        auto *const taken = next_;
        next_ += size;
        make_huge();
        return taken;
    }

    /// Frees the pages that lie within. What was taken last is zeros again, for the next one to take.
    void give_back(std::byte *begin, std::size_t size) {
        const std::lock_guard lock(mutex_);
        const auto page = static_cast<std::size_t>(sysconf(_SC_PAGESIZE));
        const bool is_last = begin + size == next_;
        auto *const first = begin_of_unit_from(begin, page);
        auto *const last = is_last ? begin_of_unit_from(next_, page) : unit_of(begin + size, page);
        const bool are_zeros = madvise(first, static_cast<std::size_t>(last - first), MADV_DONTNEED) == 0;
        if (is_last && are_zeros) {
            std::fill(begin, first, std::byte {0});
            next_ = begin;
            auto *const small = std::max(unit_of(begin, huge_page), least_small_);
            if (small < small_) madvise(small, static_cast<std::size_t>(small_ - small), MADV_NOHUGEPAGE);
            small_ = std::min(small, small_);
        } else if (begin + size > small_) {
            small_ = least_small_ = small_ + huge_page; // a huge page would make what is free resident
        }
    }

  private:
    /// What is taken of whole huge pages: one of which only a part is taken would be resident as a whole. A system
    /// without them is slower, not wrong.
    void make_huge() {
        if (next_ - small_ < static_cast<std::ptrdiff_t>(huge_page)) return;
        const auto size = static_cast<std::size_t>(next_ - small_) / huge_page * huge_page;
        madvise(small_, size, MADV_HUGEPAGE);
        madvise(small_, huge_page, collapse); // which begins with pages that are written
        small_ += size;
    }

    static std::byte *unit_of(std::byte *p, std::size_t unit) { return p - reinterpret_cast<std::uintptr_t>(p) % unit; }
    static std::byte *begin_of_unit_from(std::byte *p, std::size_t unit) {
        return p + (unit - reinterpret_cast<std::uintptr_t>(p) % unit) % unit;
    }

    std::mutex mutex_;
    std::size_t mapped_;
    std::byte *memory_, *next_, *end_;
    std::byte *small_, *least_small_; // from small_ on pages are not huge; those before least_small_ stay as they are
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
    return {data, [of, size](std::byte *begin) { of->give_back(begin, size); }};
}

} // namespace dynquant::layers

#include "guarded_buffer.hpp"

#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <stdexcept>
#include <system_error>

namespace dynquant::test {

guarded_buffer::guarded_buffer(std::size_t size, place where, std::size_t offset)
    : size_(size) {
    const auto page = static_cast<std::size_t>(sysconf(_SC_PAGESIZE));
    const auto inner = std::max<std::size_t>((size + offset + page - 1) / page, 1) * page;
    mapped_ = inner + 2 * page;
    void *memory = mmap(nullptr, mapped_, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (memory == MAP_FAILED) throw std::system_error(errno, std::generic_category(), "mmap");
    mapping_ = static_cast<std::byte *>(memory);
    accessible_ = {mapping_ + page, inner};
    if (mprotect(accessible_.data(), inner, PROT_READ | PROT_WRITE) != 0)
        throw std::system_error(errno, std::generic_category(), "mprotect");
    std::ranges::fill(accessible_, pattern);
    data_ = where == place::at_front ? accessible_.data() + offset : accessible_.data() + inner - offset - size;
}

guarded_buffer::~guarded_buffer() {
    munmap(mapping_, mapped_);
}

void guarded_buffer::fill(const std::vector<std::byte> &bytes) {
    if (bytes.size() != size_) throw std::invalid_argument("guarded_buffer: wrong number of bytes");
    std::ranges::copy(bytes, data_);
}

std::vector<std::byte> guarded_buffer::bytes() const {
    return {data_, data_ + size_};
}

bool guarded_buffer::holds(const std::vector<std::byte> &bytes) const {
    return std::equal(data_, data_ + size_, bytes.begin(), bytes.end());
}

bool guarded_buffer::intact() const {
    const auto untouched = [](std::byte b) { return b == pattern; };
    return std::all_of(accessible_.data(), data_, untouched)
            && std::all_of(data_ + size_, accessible_.data() + accessible_.size(), untouched);
}

} // namespace dynquant::test

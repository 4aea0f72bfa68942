#include "layers/gemm/shared_weights.hpp"

#include <algorithm>
#include <cstring>
#include <utility>

namespace dynquant::layers {
namespace {

/// A few bytes of each 2 KiB tell most weights apart, and take 1 % of the time of packing. All bytes are compared where
/// hashes are equal.
std::uint64_t sampled_hash(const std::byte *data, std::size_t size) {
    constexpr std::size_t line = 64, step = 31 * line; // odd, so that not each sample has the same columns of a panel
    std::uint64_t hash = size;
    for (std::size_t at = 0; at + line <= size; at += step) {
        std::uint64_t words[line / sizeof hash];
        std::memcpy(words, data + at, line);
        for (const auto word : words) {
            hash = (hash ^ word) * 0x9E3779B97F4A7C15;
            hash ^= hash >> 32;
        }
    }
    return hash;
}

} // namespace

shared_weights::memory shared_weights::share(
        const std::shared_ptr<shared_weights> &among, memory given, std::size_t size) {
    if (size < min_size) return given;
    const auto *const data = given.get();
    const auto hash = sampled_hash(data, size);
    const memory own(data, [among, hash, given = std::move(given)](const std::byte *of) mutable {
        among->remove(hash, of);
        given.reset(); // not before: others may have its address then
    });
    std::vector<memory> others; // that were compared. The end of one takes the lock, so that none ends under it
    const auto find_next = [&]() -> memory {
        const std::lock_guard lock(among->mutex_);
        const auto [first, last] = among->entries_.equal_range(hash);
        for (auto at = first; at != last; ++at) {
            const auto &e = at->second;
            if (e.size != size || std::ranges::any_of(others, [&](const memory &m) { return m.get() == e.data; }))
                continue;
            if (auto other = e.weights.lock()) return other; // else it ends just now
        }
        among->entries_.emplace(hash, entry {size, data, own});
        return nullptr;
    };
    while (const auto other = find_next()) {
        if (std::memcmp(other.get(), data, size) == 0) return other;
        others.push_back(other);
    }
    return own;
}

std::size_t shared_weights::count() const {
    const std::lock_guard lock(mutex_);
    return entries_.size();
}

void shared_weights::remove(std::uint64_t hash, const std::byte *data) {
    const std::lock_guard lock(mutex_);
    const auto [first, last] = entries_.equal_range(hash);
    const auto at = std::find_if(first, last, [&](const auto &e) { return e.second.data == data; });
    if (at != last) entries_.erase(at); // else it was given up for another one
}

shared_weights::memory share_weights(shared_weights::memory given, std::size_t size) {
    static const auto of_process = std::make_shared<shared_weights>();
    return shared_weights::share(of_process, std::move(given), size);
}

std::shared_ptr<const float> share_values(std::vector<float> given) {
    const auto owner = std::make_shared<const std::vector<float>>(std::move(given));
    const auto shared =
            share_weights({owner, reinterpret_cast<const std::byte *>(owner->data())}, owner->size() * sizeof(float));
    return {shared, reinterpret_cast<const float *>(shared.get())};
}

} // namespace dynquant::layers

// Packed weights that several layers have: sessions of one model in a process, above all.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <mutex>
#include <vector>

namespace dynquant::layers {

/// Finds memory of the same bytes. What the bytes mean is no part of it: whoever shares them knows, so that equal bytes
/// of different layouts may be shared, too. Thread safe; no lock is held while bytes are compared.
class shared_weights {
  public:
    using memory = std::shared_ptr<const std::byte>;

    /// Fewer bytes are given back as they are.
    static constexpr std::size_t min_size = 4096;

    /// Memory of the same size and bytes, which lives already; else the given one. Nobody writes to it from now on.
    static memory share(const std::shared_ptr<shared_weights> &among, memory given, std::size_t size);

    /// How many live.
    std::size_t count() const;

  private:
    struct entry {
        std::size_t size;
        const std::byte *data;
        std::weak_ptr<const std::byte> weights;
    };

    void remove(std::uint64_t hash, const std::byte *data);

    mutable std::mutex mutex_;
    std::multimap<std::uint64_t, entry> entries_;
};

/// Among those of the process. Owners keep what finds them, whatever is destroyed first as the process ends.
shared_weights::memory share_weights(shared_weights::memory given, std::size_t size);

/// Likewise, with values that the weights' sizes make many: scales of blocks.
std::shared_ptr<const float> share_values(std::vector<float> given);

} // namespace dynquant::layers

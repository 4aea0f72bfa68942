#include "quantization/shape.hpp"

#include <algorithm>

namespace dynquant {

std::optional<std::int64_t> volume(const dims &extents) {
    // A zero anywhere makes the product zero, however large the rest is.
    if (std::find(extents.begin(), extents.end(), 0) != extents.end()) return 0;
    std::int64_t product = 1;
    for (const auto extent : extents)
        if (__builtin_mul_overflow(product, extent, &product)) return std::nullopt;
    return product;
}

bool is_known(const std::optional<dims> &shape) {
    return shape && std::ranges::all_of(*shape, [](std::int64_t extent) { return extent >= 0; });
}

dims row_major(const dims &extents) {
    dims strides(extents.size());
    std::int64_t stride = 1;
    for (std::size_t d = extents.size(); d-- > 0;) {
        strides[d] = stride;
        // Overflows only where strides do not matter: without elements, or with more than check() allows.
        if (__builtin_mul_overflow(stride, std::max<std::int64_t>(extents[d], 1), &stride)) stride = INT64_MAX;
    }
    return strides;
}

dims strides_of(const tensor &t) {
    return t.strides.empty() ? row_major(t.dims) : t.strides;
}

dims parameter_dims(const dims &extents, const dims &block) {
    dims counts(extents.size());
    for (std::size_t d = 0; d < extents.size(); ++d)
        counts[d] = extents[d] == 0 ? 0 : ceil_div(extents[d], block[d]); // where it is 0, the block may be 0, too
    return counts;
}

std::optional<std::int64_t> last_offset(const dims &extents, const dims &strides) {
    std::int64_t offset = 0;
    for (std::size_t d = 0; d < extents.size(); ++d) {
        std::int64_t reach = 0;
        if (__builtin_mul_overflow(extents[d] - 1, strides[d], &reach)
                || __builtin_add_overflow(offset, reach, &offset))
            return std::nullopt;
    }
    return offset;
}

namespace {

struct extent_and_stride {
    std::int64_t extent, stride;
};

/// Searches for a collision: index differences, not all zero, whose offsets add up to 0. Dims are visited by descending
/// stride. A difference is tried only if the remaining dims can cancel it; for nested dims that is zero alone.
class collision_search {
  public:
    explicit collision_search(std::vector<extent_and_stride> dims)
        : dims_(std::move(dims))
        , reach_(dims_.size() + 1) {
        for (std::size_t d = dims_.size(); d-- > 0;)
            reach_[d] = reach_[d + 1] + (dims_[d].extent - 1) * dims_[d].stride;
    }

    bool has_collision(std::size_t d = 0, std::int64_t offset = 0, bool differs = false) {
        if (d == dims_.size()) return differs && offset == 0;
        if (--budget_ < 0) return true;
        const auto [extent, stride] = dims_[d];
        const auto rest = reach_[d + 1];
        // By symmetry the first difference may be taken as positive.
        const auto least = std::max(differs ? 1 - extent : 0, -((rest + offset) / stride));
        for (auto i = least; i < extent && offset + i * stride <= rest; ++i)
            if (has_collision(d + 1, offset + i * stride, differs || i != 0)) return true;
        return false;
    }

  private:
    std::vector<extent_and_stride> dims_;
    std::vector<std::int64_t> reach_; // the largest offset within dims d and later
    int budget_ = 10000;              // calls, then it gives up and reports a collision
};

} // namespace

bool overlaps(const dims &extents, const dims &strides) {
    std::vector<extent_and_stride> ordered;
    for (std::size_t d = 0; d < extents.size(); ++d) {
        if (extents[d] <= 1) continue;
        if (strides[d] == 0) return true;
        ordered.push_back({extents[d], strides[d]});
    }
    std::sort(ordered.begin(), ordered.end(), [](auto a, auto b) { return a.stride > b.stride; });
    return collision_search(std::move(ordered)).has_collision();
}

} // namespace dynquant

#include "quantization/broadcast.hpp"

#include <algorithm>
#include <cstring>

#include "quantization/shape.hpp"

namespace dynquant {

std::optional<dims> broadcast_shape(const dims &a, const dims &b) {
    dims shape(std::max(a.size(), b.size()), 1);
    for (std::size_t d = 0; d < shape.size(); ++d) { // from the last dimension
        const auto of_a = d < a.size() ? a[a.size() - 1 - d] : 1, of_b = d < b.size() ? b[b.size() - 1 - d] : 1;
        if (of_a != of_b && of_a != 1 && of_b != 1) return std::nullopt;
        shape[shape.size() - 1 - d] = of_a == 1 ? of_b : of_a;
    }
    return shape;
}

dims broadcast_strides(const dims &shape, const dims &to) {
    return broadcast_strides(shape, row_major(shape), to);
}

dims broadcast_strides(const dims &shape, dims strides, const dims &to) {
    for (std::size_t d = 0; d < shape.size(); ++d)
        if (shape[d] == 1) strides[d] = 0;
    strides.insert(strides.begin(), to.size() - shape.size(), 0);
    return strides;
}

std::int64_t offset_of(std::int64_t index, std::span<const std::int64_t> shape, std::span<const std::int64_t> strides) {
    std::int64_t offset = 0;
    for (auto d = shape.size(); d-- > 0; index /= shape[d])
        offset += index % shape[d] * strides[d];
    return offset;
}

void copy_strided(const std::byte *from, std::span<const std::int64_t> strides, const dims &shape, std::size_t bytes,
        std::byte *to) {
    const auto count = volume(shape).value();
    const auto columns = shape.empty() ? 1 : shape.back(), stride = shape.empty() ? 1 : strides.back();
    const auto size = static_cast<std::int64_t>(bytes);
    for (std::int64_t row = 0; row < count; row += columns) {
        const auto *const first = from + offset_of(row, shape, strides) * size;
        if (stride == 1) {
            std::memcpy(to + row * size, first, static_cast<std::size_t>(columns * size));
            continue;
        }
        for (std::int64_t c = 0; c < columns; ++c)
            std::memcpy(to + (row + c) * size, first + c * stride * size, bytes);
    }
}

} // namespace dynquant

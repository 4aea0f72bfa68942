// Statements for the onednn kernel, computed by oneDNN alone.
#pragma once

#include <cstring>
#include <optional>
#include <vector>

#include "oracle/statements.hpp"

namespace dynquant::test {

/// dst of one dnnl::reorder with the given tensors, and with masks of the dims that the blocks divide. Empty if oneDNN
/// refuses. Bytes between elements are zero.
std::optional<std::vector<std::byte>> plain_reorder(const quantization &q, const oracle::inputs &in);

/// The name of the implementation that oneDNN selects.
std::string plain_implementation(const quantization &q);

/// Whether the oneDNN at run time is older than major.minor.
bool onednn_older_than(int major, int minor);

/// The elements of a buffer.
template <typename T>
std::vector<T> elements(const std::vector<std::byte> &bytes) {
    std::vector<T> result(bytes.size() / sizeof(T));
    std::memcpy(result.data(), bytes.data(), result.size() * sizeof(T));
    return result;
}

} // namespace dynquant::test

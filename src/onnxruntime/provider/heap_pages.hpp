// Memory that was freed and that the heap keeps.
#pragma once

#include <cstddef>
#include <span>

namespace dynquant::onnxruntime {

/// Returns pages to the system after blocks of these sizes were freed: the heap itself returns only what lies above its
/// last block. Takes blocks of the same sizes of it, which it makes of the freed ones, and empties them.
void free_pages_of_heap(std::span<const std::size_t> sizes);

} // namespace dynquant::onnxruntime

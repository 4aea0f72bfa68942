// flat/ is one plain loop that reads the bytes of src once and writes those of dst once, in order. Its results mean
// nothing.
#pragma once

#include <cstdint>

#include "dynquant/quantization.hpp"
#include "targets/features.hpp"

namespace dqbench::flat {

/// Reads all of src and writes all of dst.
using function = void (*)(const char *src, std::int64_t src_bytes, char *dst, std::int64_t dst_bytes, bool stream);

extern const dynquant::targets::candidate<const function *> flat_table[];

/// The loop over the bytes of two tensors, without the gaps that strides leave, split and streamed as the native
/// kernel's work is. Computed scales need src twice, a block from a cache the second time: the loop reads it once.
class loop {
  public:
    loop(const dynquant::tensor &src, const dynquant::tensor &dst, dynquant::targets::features available);

    void run(const void *src, void *dst) const;

  private:
    function function_;
    std::int64_t elements_, src_bytes_, dst_bytes_;
};

} // namespace dqbench::flat

// Groups: blocks of consecutive elements that follow each other in src and in dst.
#pragma once

#include <optional>

#include "kernels/native/scales/box_parameters.hpp"
#include "kernels/native/scales/boxes.hpp"

namespace dynquant::kernels::native {

/// Computes the range, the parameters and the codes of a box by three calls, while src is in the first-level cache:
/// without the walks, chunks and statements that boxes of other blocks need.
class groups {
  public:
    /// Gives q the dims {groups, elements of a group}, if its blocks are groups. None if they are not, or if the
    /// instruction set has no microkernel for them.
    static std::optional<groups> of(
            quantization &q, const parameter_formulas &formulas, const kernel_loops &loops, bool streams);

    tiling box() const { return {{std::min(together_, count_), length_}, false}; }

    /// Computes a box. Returns false if its elements or parameters are too unusual for the microkernel: then the box's
    /// statement computes all of it.
    bool compute(const arguments &args, std::int64_t number) const;

  private:
    groups(const quantization &q, const parameter_formulas &formulas, const kernel_loops &loops, bool streams);

    const parameter_formulas &formulas_;
    range_function add_rows_;
    microkernel codes_ = nullptr;
    write_function pack_ = nullptr; // of elements narrower than a byte
    const small_float_encoding *encoding_;
    std::int64_t count_, length_, together_ = 0; // groups, elements of a group, groups of a box
    std::int64_t ahead_ = 0;                     // bytes, of prefetches
    int src_bytes_, dst_bits_;
    bool streams_, integral_;
    bool by_rows_ = false; // each group is a row
};

} // namespace dynquant::kernels::native

// What computes dense rows, resolved at prepare for each state that a panel's parameters can have. The driver then
// looks at that state, the rows' shape and their alignment.
#pragma once

#include "kernels/native/microkernel.hpp"

namespace dynquant::kernels::native {

struct plan;
struct walk;

/// Data types in memory, and the codecs between these and what a microkernel reads and writes.
struct staging {
    data_type src, dst;
    int src_bytes, dst_bytes;  // sizes of elements that the microkernel reads and writes
    read_function read, round; // null: it reads src directly; as it is
    write_function write;      // null: it writes dst directly
};

/// A microkernel, and the codecs for what it does not read or write itself.
struct staged_kernel {
    microkernel kernel;
    staging memory;
    bool is_direct; // no codecs, and src and dst are dense
};

/// How rows are computed whose parameters are in one state.
struct resolved {
    form by;
    staged_kernel usual;
    staged_kernel of_short_rows, of_broken_lines; // differ for codes: rows of few, and streamed ones inside cache lines
    microkernel look_up;                          // 4-bit elements by a table of their results, or null
    std::int64_t most_rows_of_groups;             // up to this many rows, each group becomes a row
};

struct resolved_states {
    resolved entries[preparations];

    const resolved &operator[](preparation state) const { return entries[static_cast<int>(state)]; }
};

/// Resolves a walk of a plan that is complete but for this.
void resolve(const plan &p, walk &w);

} // namespace dynquant::kernels::native

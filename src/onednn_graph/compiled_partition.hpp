// Compiled partitions of claimed ops: handles of this library's own, so that execute need not look them up.
#pragma once

#include <optional>

#include "onednn_graph/records.hpp"

namespace dynquant::onednn_graph {

/// Behind the handle that a program holds. oneDNN's begin with a pointer, which this mark cannot be.
struct own_compiled_partition {
    static constexpr std::uint64_t own_mark = 0xd74a9a4d5eed0dd5;

    std::uint64_t mark = own_mark;
    std::optional<core::compiled_op> ours = {};
    core::onednn_compiled_partition by_onednn = {}; // where this op was left to oneDNN at compile
};

/// The one behind a handle, or nullptr when the handle is oneDNN's, or null.
inline own_compiled_partition *find_own(const_dnnl_graph_compiled_partition_t handle) {
    const auto *own = reinterpret_cast<const own_compiled_partition *>(handle);
    return own && own->mark == own_compiled_partition::own_mark ? const_cast<own_compiled_partition *>(own) : nullptr;
}

} // namespace dynquant::onednn_graph

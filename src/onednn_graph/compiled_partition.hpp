// Compiled partitions of claimed ops. Their handles point to objects of this library, so that execute needs no lookup.
#pragma once

#include <memory>
#include <string>

#include "onednn_graph/records.hpp"

namespace dynquant::onednn_graph {

/// The object behind such a handle. oneDNN's objects begin with a pointer, which never equals `own_magic`.
struct own_compiled_partition {
    static constexpr std::uint64_t own_magic = 0xd74a9a4d5eed0dd5;

    std::uint64_t magic = own_magic;
    std::unique_ptr<const core::compiled> by_dynquant = {};
    core::onednn_compiled_partition by_onednn = {}; // set if compile fell back to oneDNN
    std::string why_not_ours = "a partition of one op, which is not compiled";
};

/// The object behind a handle, or nullptr if the handle is oneDNN's or null.
inline own_compiled_partition *find_own(const_dnnl_graph_compiled_partition_t handle) {
    const auto *own = reinterpret_cast<const own_compiled_partition *>(handle);
    return own && own->magic == own_compiled_partition::own_magic ? const_cast<own_compiled_partition *>(own) : nullptr;
}

} // namespace dynquant::onednn_graph

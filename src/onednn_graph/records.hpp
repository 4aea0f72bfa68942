// src/onednn_graph: the drop-in, which exports oneDNN Graph's C functions. It forwards calls to oneDNN, and claims
// partitions that are one op of this family, unless it is an extension, or a layer. It includes public headers, graph,
// quantization, kernels/kernels.hpp and oneDNN's headers. Start with graph.cpp, then partition.cpp and next.hpp.
//
// This file: records of oneDNN's handles. They are kept beside the handles, which programs also pass to functions of
// oneDNN that are not exported here.
#pragma once

#include <atomic>
#include <memory>
#include <mutex>
#include <set>
#include <shared_mutex>
#include <unordered_map>

#include "graph/layer/claims.hpp"
#include "onednn_graph/next.hpp"

namespace dynquant::onednn_graph {

/// Records by handle. Thread safe. The address of a destroyed handle may be reused; a record lives as long as it is
/// shared. While there are no records, lookups take no lock.
template <typename Record>
class registry {
  public:
    void put(const void *handle, std::shared_ptr<Record> record) {
        const std::lock_guard lock(mutex_);
        records_.insert_or_assign(handle, std::move(record));
        size_ = records_.size();
    }
    void drop(const void *handle) {
        if (size_ == 0) return;
        const std::lock_guard lock(mutex_);
        records_.erase(handle);
        size_ = records_.size();
    }
    std::shared_ptr<Record> find(const void *handle) const {
        if (size_ == 0) return nullptr;
        const std::shared_lock lock(mutex_);
        const auto found = records_.find(handle);
        return found == records_.end() ? nullptr : found->second;
    }

  private:
    mutable std::shared_mutex mutex_;
    std::unordered_map<const void *, std::shared_ptr<Record>> records_;
    std::atomic<size_t> size_ = 0;
};

using core::op_record;

/// The fpmath mode of a graph, and the ops that were added to it.
struct graph_state {
    explicit graph_state(dnnl_fpmath_mode_t given)
        : mode(given) {}

    dnnl_fpmath_mode_t mode;
    bool applies_to_int = false;
    std::set<size_t> ids;                            // of all ops: oneDNN ignores a second op with one id
    std::vector<core::op_pointer> ops;               // those that have records, in the order of add_op
    std::set<size_t> family;                         // ids of those that dynquant may claim
    bool has_layers = true;                          // each op has a record, with which a graph around layers is made
    std::optional<core::graph_around_layers> around; // since the last call of filter: layers are taken
};

/// A partition that dynquant compiles.
struct claim {
    std::shared_ptr<const core::claimed> ops;
    dnnl_fpmath_mode_t mode;
    bool is_layer = false; // its handle is of a Wildcard
};

/// Never destroyed: programs destroy handles from static destructors.
template <typename Record>
registry<Record> &records_of() {
    static auto &all = *new registry<Record>;
    return all;
}
constexpr auto ops = records_of<op_record>;
constexpr auto graphs = records_of<graph_state>;
constexpr auto claims = records_of<const claim>;

} // namespace dynquant::onednn_graph

// What this library knows of oneDNN's handles: beside them, as programs give them to functions that are not exported
// here.
#pragma once

#include <atomic>
#include <memory>
#include <mutex>
#include <set>
#include <shared_mutex>
#include <unordered_map>

#include "graph/op_record.hpp"
#include "onednn_graph/next.hpp"

namespace dynquant::onednn_graph {

/// Records by handle. A handle's address may be used again after it is destroyed; records outlive their handles
/// where others share them. With no records at all, looking costs nothing.
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

/// A graph: its fpmath mode, and what was added to it.
struct graph_note {
    explicit graph_note(dnnl_fpmath_mode_t given)
        : mode(given) {}

    dnnl_fpmath_mode_t mode;
    std::set<size_t> ids;                                    // of all ops: oneDNN ignores a second op of an id
    std::map<size_t, std::shared_ptr<const op_record>> ours; // by id
};

/// A partition that is one op of this family.
struct claim {
    std::shared_ptr<const op_record> op;
    dnnl_fpmath_mode_t mode;
};

// Never destroyed: programs destroy handles from static destructors.
registry<op_record> &ops(); // of this family
registry<graph_note> &graphs();
registry<const claim> &claims();

} // namespace dynquant::onednn_graph

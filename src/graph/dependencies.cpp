#include "graph/dependencies.hpp"

#include <algorithm>
#include <set>
#include <utility>

#include "graph/op_schema.hpp"
#include "graph/refusal.hpp"

namespace dynquant::graph::core {
namespace {

using op_list = std::vector<std::shared_ptr<const op_record>>;

/// Producers and consumers of each op, by their indices in the graph.
class dependencies {
  public:
    explicit dependencies(const op_list &ops)
        : ops_(ops)
        , consumers_(ops.size())
        , producers_(ops.size()) {
        std::map<size_t, size_t> writer; // of a logical tensor
        for (size_t i = 0; i < ops.size(); ++i)
            for (const auto &output : ops[i]->outputs)
                writer.emplace(output.id, i);
        for (size_t i = 0; i < ops.size(); ++i)
            for (const auto &input : ops[i]->inputs)
                if (const auto found = writer.find(input.id); found != writer.end()) {
                    consumers_[found->second].push_back(i);
                    producers_[i].insert(found->second);
                }
    }

    /// Producers before consumers, otherwise in the order of add_op (Kahn, 1962). Throws on a cycle.
    std::vector<size_t> order() {
        std::set<size_t> ready;
        for (size_t i = 0; i < producers_.size(); ++i)
            if (producers_[i].empty()) ready.insert(i);
        std::vector<size_t> result;
        while (!ready.empty()) {
            const auto next = *ready.begin();
            ready.erase(ready.begin());
            result.push_back(next);
            for (const auto consumer : consumers_[next])
                if (producers_[consumer].erase(next) && producers_[consumer].empty()) ready.insert(consumer);
        }
        if (result.size() != producers_.size()) refuse_cycle();
        return result;
    }

  private:
    /// Every remaining op has a remaining producer, so following producers leads into a cycle.
    [[noreturn]] void refuse_cycle() const {
        auto at = static_cast<size_t>(
                std::ranges::find_if(producers_, [](const auto &set) { return !set.empty(); }) - producers_.begin());
        auto consumer = at;
        for (size_t step = 0; step < producers_.size(); ++step)
            consumer = std::exchange(at, *producers_[at].begin());
        const auto &op = *ops_[at];
        const auto read = std::ranges::find_if(op.outputs, [&](const auto &output) {
            return std::ranges::count(ops_[consumer]->inputs, output.id, &c_logical_tensor::id) != 0;
        });
        const auto *schema = find_schema(op);
        const auto position = static_cast<size_t>(read - op.outputs.begin());
        refuse(op, dnnl_invalid_graph, schema ? schema->outputs[position].name : concat("output ", position),
                ": expected a graph without cycles, given one in which logical tensor ", read->id,
                " depends on itself");
    }

    const op_list &ops_;
    std::vector<std::vector<size_t>> consumers_;
    std::vector<std::set<size_t>> producers_; // not yet in the order
};

} // namespace

op_list sort_topologically(const op_list &ops) {
    op_list ordered;
    for (const auto index : dependencies(ops).order())
        ordered.push_back(ops[index]);
    return ordered;
}

} // namespace dynquant::graph::core

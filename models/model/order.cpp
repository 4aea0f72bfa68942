// Topological order of the nodes.
#include <algorithm>
#include <functional>
#include <queue>
#include <set>
#include <unordered_map>

#include "model/refusal.hpp"

namespace dynquant::models {
namespace {

class ordering {
  public:
    explicit ordering(graph &g)
        : graph_(g) {
        for (const auto &[name, value] : g.initializers)
            define(name, given, "an initializer");
        for (const auto &input : g.inputs)
            define(input.name, given, "an input of the graph");
        for (std::size_t i = 0; i < g.nodes.size(); ++i)
            for (const auto &output : g.nodes[i].outputs)
                if (!output.empty()) define(output, i, label(g.nodes[i]));
        check_outputs();
        connect();
    }

    /// Always takes the ready node that is first in the file.
    std::vector<std::size_t> sorted() {
        std::priority_queue<std::size_t, std::vector<std::size_t>, std::greater<>> ready;
        for (std::size_t i = 0; i < waits_for_.size(); ++i)
            if (waits_for_[i] == 0) ready.push(i);
        std::vector<std::size_t> order;
        while (!ready.empty()) {
            const auto next = ready.top();
            ready.pop();
            order.push_back(next);
            for (const auto user : users_[next])
                if (--waits_for_[user] == 0) ready.push(user);
        }
        if (order.size() < waits_for_.size()) refuse_cycle();
        return order;
    }

  private:
    static constexpr auto given = static_cast<std::size_t>(-1); // no node computes it

    void define(const std::string &name, std::size_t node, const std::string &by) {
        const auto [at, is_new] = defined_by_.try_emplace(name, node);
        if (is_new) return;
        const auto first = at->second == given ? std::string("an input or an initializer of the graph")
                                               : label(graph_.nodes[at->second]);
        refuse(status::invalid_arguments, "value '", name, "': expected one definition, given ", first, " and ", by);
    }

    void check_outputs() const {
        std::set<std::string> names;
        for (const auto &output : graph_.outputs) {
            if (!defined_by_.contains(output.name))
                refuse(status::invalid_arguments, "output '", output.name,
                        "': expected a value that a node computes, an input or an initializer, given none of "
                        "that name");
            if (!names.insert(output.name).second)
                refuse(status::invalid_arguments, "output '", output.name, "': expected it once, given it more often");
        }
    }

    void connect() {
        users_.resize(graph_.nodes.size());
        waits_for_.resize(graph_.nodes.size());
        for (std::size_t i = 0; i < graph_.nodes.size(); ++i)
            for (const auto &input : graph_.nodes[i].inputs) {
                if (input.empty()) continue;
                const auto from = producer(i, input);
                if (from == given) continue;
                users_[from].push_back(i);
                ++waits_for_[i];
            }
    }

    std::size_t producer(std::size_t node, const std::string &input) const {
        const auto found = defined_by_.find(input);
        if (found == defined_by_.end())
            refuse(graph_.nodes[node], status::invalid_arguments, "input '", input,
                    "': expected an initializer, an input of the graph or another node's output, given none of that "
                    "name");
        return found->second;
    }

    /// Every waiting node has a waiting producer, so following producers ends in a cycle.
    [[noreturn]] void refuse_cycle() const {
        auto at = static_cast<std::size_t>(
                std::ranges::find_if(waits_for_, [](int count) { return count > 0; }) - waits_for_.begin());
        std::set<std::size_t> seen;
        while (seen.insert(at).second) {
            const auto from = producers(at);
            at = *std::ranges::find_if(from, [&](std::size_t p) { return p != given && waits_for_[p] > 0; });
        }
        refuse(graph_.nodes[at], status::invalid_arguments,
                "expected a graph without cycles, given one in which it needs its own result");
    }

    std::vector<std::size_t> producers(std::size_t node) const {
        std::vector<std::size_t> result;
        for (const auto &input : graph_.nodes[node].inputs)
            if (!input.empty()) result.push_back(defined_by_.at(input));
        return result;
    }

    graph &graph_;
    std::unordered_map<std::string, std::size_t> defined_by_;
    std::vector<std::vector<std::size_t>> users_;
    std::vector<int> waits_for_;
};

} // namespace

void order(graph &g) {
    std::vector<node> sorted;
    sorted.reserve(g.nodes.size());
    for (const auto index : ordering(g).sorted())
        sorted.push_back(g.nodes[index]);
    g.nodes = std::move(sorted);
}

} // namespace dynquant::models

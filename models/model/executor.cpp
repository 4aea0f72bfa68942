#include "model/executor.hpp"

#include <algorithm>
#include <cstring>
#include <new>
#include <set>

#include <tbb/task_arena.h>

#include "model/memory_plan.hpp"
#include "parallel/executor.hpp"
#include "parallel/float_control.hpp"
#include "parallel/fork.hpp"

namespace dynquant::models {
namespace {

constexpr std::align_val_t cache_line {64};

struct free_aligned {
    void operator()(std::byte *bytes) const { ::operator delete[](bytes, cache_line); }
};

std::size_t bytes_of(const graph &g, const std::string &value) {
    return static_cast<std::size_t>(*size_in_bytes(g.value_types.at(value)));
}

/// The index of the port of that name, or the number of ports where there is none.
std::size_t index_of(const std::vector<port> &ports, const std::string &name) {
    return static_cast<std::size_t>(std::ranges::find(ports, name, &port::name) - ports.begin());
}

} // namespace

/// The memory and threads of one run at a time.
struct executor::workspace {
    explicit workspace(const executor &e)
        : bytes(static_cast<std::byte *>(::operator new[](e.workspace_bytes_, cache_line)))
        , stage_inputs(e.max_inputs_)
        , arena(e.threads_ > 0 ? e.threads_ : tbb::task_arena::automatic) {}

    std::unique_ptr<std::byte, free_aligned> bytes;
    std::vector<const void *> stage_inputs;
    layers::workspace memory; // of the layers
    tbb::task_arena arena;    // one per run, as concurrent runs would share its few threads
};

/// Assigns a place to each value.
class executor::planner {
  public:
    planner(const graph &g, executor &e)
        : graph_(g)
        , executor_(e) {}

    void plan(std::vector<placed_stage> stages) {
        add_lifetimes(stages);
        const auto memory = plan_memory(lifetimes_);
        executor_.workspace_bytes_ = memory.bytes;
        for (std::size_t i = 0; i < stages.size(); ++i) {
            step s {std::move(stages[i].work), {}, place_of(stages[i].output, memory)};
            for (const auto &input : stages[i].inputs)
                s.inputs.push_back(place_of(input, memory));
            executor_.max_inputs_ = std::max(executor_.max_inputs_, s.inputs.size());
            executor_.steps_.push_back(std::move(s));
        }
        add_copies(memory);
    }

  private:
    /// Adds the lifetimes of intermediate results.
    void add_lifetimes(const std::vector<placed_stage> &stages) {
        for (std::size_t i = 0; i < stages.size(); ++i) {
            for (const auto &input : stages[i].inputs)
                if (const auto at = in_workspace_.find(input); at != in_workspace_.end())
                    lifetimes_[at->second].last = i;
            computed_.insert(stages[i].output);
            if (index_of(graph_.outputs, stages[i].output) < graph_.outputs.size()) continue;
            in_workspace_[stages[i].output] = lifetimes_.size();
            lifetimes_.push_back({i, i, bytes_of(graph_, stages[i].output)});
        }
    }

    place place_of(const std::string &value, const memory_plan &memory) const {
        if (const auto at = in_workspace_.find(value); at != in_workspace_.end())
            return {place::work, memory.offsets[at->second], nullptr};
        if (computed_.contains(value)) return {place::output, index_of(graph_.outputs, value), nullptr};
        if (const auto input = index_of(graph_.inputs, value); input < graph_.inputs.size())
            return {place::input, input, nullptr};
        const auto &constant = *executor_.constants_.try_emplace(value, graph_.initializers.at(value)).first;
        return {place::constant, 0, constant.second.data.data()};
    }

    void add_copies(const memory_plan &memory) {
        for (std::size_t i = 0; i < graph_.outputs.size(); ++i)
            if (const auto &name = graph_.outputs[i].name; !computed_.contains(name))
                executor_.copies_.push_back({place_of(name, memory), i, bytes_of(graph_, name)});
    }

    const graph &graph_;
    executor &executor_;
    std::vector<lifetime> lifetimes_;
    std::map<std::string, std::size_t> in_workspace_; // index in lifetimes_
    std::set<std::string> computed_;
};

executor::executor(std::vector<placed_stage> stages, const graph &g, int threads)
    : threads_(threads) {
    planner(g, *this).plan(std::move(stages));
}

executor::~executor() = default;

void executor::run(std::span<const void *const> inputs, std::span<void *const> outputs) const {
    auto w = idle_.take([&] { return std::make_unique<workspace>(*this); });
    const auto run_all = [&] { parallel::run_controlled([&] { run_steps(*w, inputs, outputs); }); };
    if (threads_ == 0 || !parallel::may_use_threads()) {
        run_all();
    } else {
        const parallel::float_control control; // for TBB's tasks in this arena
        w->arena.execute([&] {                 // perhaps on another thread
            const parallel::scoped_openmp_threads limit(threads_);
            run_all();
        });
    }
    idle_.give_back(std::move(w));
}

void executor::run_steps(workspace &w, std::span<const void *const> inputs, std::span<void *const> outputs) const {
    const auto address = [&](const place &p) -> const void * {
        switch (p.in) {
            case place::constant: return p.data;
            case place::input: return inputs[p.at];
            case place::output: return outputs[p.at];
            case place::work: break;
        }
        return w.bytes.get() + p.at;
    };
    for (const auto &s : steps_) {
        for (std::size_t i = 0; i < s.inputs.size(); ++i)
            w.stage_inputs[i] = address(s.inputs[i]);
        void *output = s.output.in == place::output ? outputs[s.output.at] : w.bytes.get() + s.output.at;
        s.work({std::span(w.stage_inputs).first(s.inputs.size()), output, w.memory});
    }
    for (const auto &c : copies_)
        if (c.bytes > 0) std::memcpy(outputs[c.output], address(c.from), c.bytes);
}

} // namespace dynquant::models

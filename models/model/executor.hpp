// Runs stages one after another, in a workspace that is planned once.
#pragma once

#include <map>

#include "model/stage.hpp"
#include "parallel/pool.hpp"

namespace dynquant::models {

class executor {
  public:
    /// The stages in order, each after those whose outputs it takes, and the graph that they compute, of which the
    /// executor keeps what it needs. threads: 0 is as many as there are.
    executor(std::vector<placed_stage> stages, const graph &g, int threads);
    executor(const executor &) = delete;
    executor &operator=(const executor &) = delete;
    ~executor();

    /// The buffers of the graph's inputs and outputs. May be called from many threads at once.
    void run(std::span<const void *const> inputs, std::span<void *const> outputs) const;

  private:
    struct workspace;
    class planner;

    /// Where a value is: in memory of its own, among the caller's buffers, or in the workspace.
    struct place {
        enum { constant, input, output, work } in;
        std::size_t at;   // an index of the caller's, or an offset
        const void *data; // a constant's
    };
    struct step {
        std::unique_ptr<const stage> work;
        std::vector<place> inputs;
        place output;
        std::size_t scratch; // an offset
    };
    /// An output that is an input or a constant, and is copied.
    struct copy {
        place from;
        std::size_t output, bytes;
    };

    void run_steps(workspace &w, std::span<const void *const> inputs, std::span<void *const> outputs) const;

    std::map<std::string, tensor> constants_;
    std::vector<step> steps_;
    std::vector<copy> copies_;
    std::size_t workspace_bytes_ = 0, most_inputs_ = 0;
    int threads_;
    mutable parallel::pool<workspace> idle_;
};

} // namespace dynquant::models

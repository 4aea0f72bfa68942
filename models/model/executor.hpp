// Runs stages one after another, in a workspace whose memory plan is made once.
#pragma once

#include <map>

#include "model/stage.hpp"
#include "parallel/pool.hpp"

namespace dynquant::models {

class executor {
  public:
    /// Precondition: the stages are in topological order and compute g. Copies what it needs of g. threads: 0 is the
    /// concurrency of the caller's arena, or of OpenMP.
    executor(std::vector<placed_stage> stages, const graph &g, int threads);
    executor(const executor &) = delete;
    executor &operator=(const executor &) = delete;
    ~executor();

    /// Takes the buffers of the graph's inputs and outputs, in the graph's order. Thread-safe.
    void run(std::span<const void *const> inputs, std::span<void *const> outputs) const;

  private:
    struct workspace;
    class planner;

    /// Where a value is: in a constant's memory, in a buffer of the caller, or in the workspace.
    struct place {
        enum { constant, input, output, work } in;
        std::size_t at;   // index of the caller's buffer, or offset in the workspace
        const void *data; // of a constant
    };
    struct step {
        stage work;
        std::vector<place> inputs;
        place output;
    };
    /// A graph output that is an input or a constant.
    struct copy {
        place from;
        std::size_t output, bytes;
    };

    void run_steps(workspace &w, std::span<const void *const> inputs, std::span<void *const> outputs) const;

    std::map<std::string, tensor> constants_;
    std::vector<step> steps_;
    std::vector<copy> copies_;
    std::size_t workspace_bytes_ = 0, max_inputs_ = 0;
    int threads_;
    mutable parallel::object_pool<workspace> idle_;
};

} // namespace dynquant::models

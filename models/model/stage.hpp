// A stage: one node or several, prepared to run.
#pragma once

#include <memory>
#include <span>

#include "dynquant/model.hpp"
#include "layers/block_sums.hpp"
#include "model/graph.hpp"

namespace dynquant::models {

/// The buffers of one run, and the memory that its layers share. Buffers do not overlap; buffers of zero volume may be
/// null.
struct stage_arguments {
    std::span<const void *const> inputs;
    void *output;
    layers::run_memory &memory;
};

/// Immutable. run() is thread-safe, and is called under parallel::float_control. It must not throw for what the
/// constructor can check.
class stage {
  public:
    stage() = default;
    stage(const stage &) = delete;
    stage &operator=(const stage &) = delete;
    virtual ~stage() = default;

    virtual void run(const stage_arguments &args) const = 0;
};

/// A stage that is one function of stage_arguments.
template <typename Function>
std::unique_ptr<const stage> make_stage(Function function) {
    class function_stage final : public stage {
      public:
        explicit function_stage(Function function)
            : function_(std::move(function)) {}
        void run(const stage_arguments &args) const override { function_(args); }

      private:
        Function function_;
    };
    return std::make_unique<function_stage>(std::move(function));
}

/// A stage and the names of the values that are its inputs and its output.
struct placed_stage {
    std::unique_ptr<const stage> work;
    std::vector<std::string> inputs;
    std::string output;
    model_stage description;
};

} // namespace dynquant::models

// A stage: a node, or several at once, ready to run.
#pragma once

#include <memory>
#include <span>

#include "dynquant/model.hpp"
#include "model/graph.hpp"

namespace dynquant::models {

/// The buffers of one run: those of the stage's inputs, and scratch memory of as many bytes as it asks for, aligned
/// to a cache line. None overlaps another; those of zero volume may be null.
struct stage_arguments {
    std::span<const void *const> inputs;
    void *output;
    std::byte *scratch;
};

/// Immutable: run() is called from many threads at once, under parallel::float_control. It must not throw for what
/// could have been found out before.
class stage {
  public:
    stage() = default;
    stage(const stage &) = delete;
    stage &operator=(const stage &) = delete;
    virtual ~stage() = default;

    virtual std::size_t scratch_bytes() const { return 0; }
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

/// A stage among others: which values of the graph its inputs and its output are.
struct placed_stage {
    std::unique_ptr<const stage> work;
    std::vector<std::string> inputs;
    std::string output;
    model_stage description;
};

} // namespace dynquant::models

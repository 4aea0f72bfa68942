#include "graph/layer/claimed_layer.hpp"

#include <algorithm>

#include "graph/execution.hpp"
#include "graph/layer/compiled_layer.hpp"

namespace dynquant::graph::core {
namespace {

class claimed_layer : public claimed {
  public:
    explicit claimed_layer(chain c)
        : chain_(std::move(c)) {
        for (const auto &op : chain_.ops)
            for (const auto &t : op->inputs) {
                const auto has_id = [&](const auto &other) { return other.id == t.id; };
                const bool is_inner = std::ranges::any_of(
                        chain_.ops, [&](const auto &o) { return std::ranges::any_of(o->outputs, has_id); });
                if (!is_inner && std::ranges::none_of(inputs_, has_id)) inputs_.push_back(t);
            }
        outputs_ = {chain_.last().outputs.front()};
    }

    std::string label() const override { return core::label(chain_); }
    std::vector<size_t> ids() const override { return chain_.owned; }
    const std::vector<c_logical_tensor> &inputs() const override { return inputs_; }
    const std::vector<c_logical_tensor> &outputs() const override { return outputs_; }

    std::unique_ptr<const compiled> compile(logical_tensors inputs, logical_tensors outputs, dnnl_fpmath_mode_t mode,
            kernels::kernel_list kernels) const override {
        auto shapes = make_shapes(chain_, inputs, outputs, mode);
        share_threads_with_onednn();
        return compile_layer(label(), std::move(shapes), kernels);
    }

  private:
    chain chain_;
    std::vector<c_logical_tensor> inputs_, outputs_;
};

} // namespace

std::shared_ptr<const claimed> claim_layer(chain c) {
    return std::make_shared<const claimed_layer>(std::move(c));
}

} // namespace dynquant::graph::core

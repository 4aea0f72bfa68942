#include "program.hpp"

#include "text_parsing.hpp"

namespace dqbench {
namespace {

class graph_api_program final : public program {
  public:
    graph_api_program(const statement &s, const parameters &p)
        : program_(s, p) {}

    dynquant::dims dst_strides() const override { return program_.dst().get_strides(); }
    dynquant::operation_info info() const override { return program_.info(); }
    void bind(const buffers &b) override { program_.bind(b); }
    void execute() override { program_.execute(); }

  private:
    graph_program<with_dynquant> program_;
};

class direct_program final : public program {
  public:
    direct_program(dynquant::operation operation, dynquant::dims dst_strides)
        : operation_(std::move(operation))
        , dst_strides_(std::move(dst_strides)) {}

    dynquant::dims dst_strides() const override { return dst_strides_; }
    dynquant::operation_info info() const override { return operation_.info(); }
    void bind(const buffers &b) override {
        arguments_ = {b.src, b.scales, b.zero_points, b.dst, nullptr, b.scales, b.zero_points};
    }
    void execute() override { operation_.run(arguments_); }

  private:
    dynquant::operation operation_;
    dynquant::dims dst_strides_;
    dynquant::arguments arguments_;
};

/// The strides of dst, which must be given: only the graph API can choose a layout.
const dynquant::dims &require_dst_strides(const statement &s) {
    if (!s.dst_strides) throw usage_error("--dtag: expected a layout with strides, as --api=direct needs, given any");
    return *s.dst_strides;
}

} // namespace

std::unique_ptr<program> make_program(const test_case &c, const statement &s, const parameters &p) {
    if (c.api == api_kind::graph) return std::make_unique<graph_api_program>(s, p);
    const auto &strides = require_dst_strides(s);
    return std::make_unique<direct_program>(dynquant::prepare(s.direct(p, strides, s.rule())), strides);
}

} // namespace dqbench

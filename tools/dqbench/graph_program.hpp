// The case as a oneDNN Graph program. One template serves oneDNN and dynquant; only the namespace differs.
#pragma once

#include <string>
#include <vector>

#include "dynquant/graph.hpp"
#include "statement.hpp"
#include "vocabulary.hpp"

namespace dqbench {

using dnnl::graph::logical_tensor;

struct with_dynquant {
    using graph = dynquant::graph::graph;
    using op = dynquant::graph::op;
    using compiled_partition = dynquant::graph::compiled_partition;
};

struct with_onednn {
    using graph = dnnl::graph::graph;
    using op = dnnl::graph::op;
    using compiled_partition = dnnl::graph::compiled_partition;
};

const dnnl::engine &cpu();

/// The logical tensors of a statement: src, for a dynamic op scales and zps, and dst.
struct ports {
    ports(const statement &s);

    std::vector<logical_tensor> inputs;
    logical_tensor dst;
};

dnnl::graph::op::kind kind_of(const statement &s);

/// The buffers of an execution. A buffer that the op does not have is ignored. Computed scales and zero points are
/// written, others are read.
struct buffers {
    void *src, *scales, *zero_points, *dst;
};

template <typename Api>
class graph_program {
  public:
    /// Builds and compiles. Throws dnnl::error when the statement is refused.
    graph_program(const statement &s, const parameters &p)
        : ports_(s) {
        typename Api::op op(0, kind_of(s), ports_.inputs, {ports_.dst}, "dqbench");
        set_attributes(op, s, p);
        typename Api::graph graph(dnnl::engine::kind::cpu, s.fpmath);
        graph.add_op(op);
        graph.finalize();
        const auto partitions = graph.get_partitions();
        if (partitions.size() != 1 || !partitions[0].is_supported())
            throw dnnl::error(dnnl_unimplemented, "the partition is not supported");
        compiled_ = partitions[0].compile(ports_.inputs, {ports_.dst}, cpu());
        ports_.dst = compiled_.query_logical_tensor(ports_.dst.get_id());
    }

    /// dst as compiled, with its layout.
    const logical_tensor &dst() const { return ports_.dst; }

    /// The kernel and instruction set in use. Only with_dynquant: oneDNN's API has no such query.
    dynquant::operation_info info() const { return compiled_.get_info(); }

    void bind(const buffers &b) {
        void *const handles[] = {b.src, b.scales, b.zero_points};
        inputs_.clear();
        for (std::size_t i = 0; i < ports_.inputs.size(); ++i)
            inputs_.emplace_back(ports_.inputs[i], cpu(), handles[i]);
        outputs_ = {dnnl::graph::tensor(ports_.dst, cpu(), b.dst)};
    }

    void execute() {
        compiled_.execute(stream_, inputs_, outputs_);
        stream_.wait();
    }

  private:
    static void set_attributes(typename Api::op &op, const statement &s, const parameters &p) {
        using attr = dnnl::graph::op::attr;
        op.set_attr(attr::qtype, std::string(name_of(s.qtype)));
        if (s.qtype == granularity::per_channel) op.set_attr(attr::axis, s.axis);
        if (s.qtype == granularity::per_group) op.set_attr(dynquant::graph::newer::group_shape, s.group);
        if (s.dynamic) return;
        op.set_attr(attr::scales, p.scales);
        if (s.types.zps) op.set_attr(attr::zps, std::vector<std::int64_t>(p.zero_points.begin(), p.zero_points.end()));
    }

    ports ports_;
    typename Api::compiled_partition compiled_;
    dnnl::stream stream_ {cpu()};
    std::vector<dnnl::graph::tensor> inputs_, outputs_;
};

} // namespace dqbench

// A chain as a oneDNN Graph program: one template for oneDNN and for dynquant, as graph_program.hpp.
#pragma once

#include <algorithm>
#include <memory>
#include <set>

#include "contestant.hpp"
#include "graph_program.hpp"
#include "guarded_buffer.hpp"
#include "layers/chain_graph.hpp"
#include "quantization/text.hpp"

namespace dqbench::layers {

/// oneDNN's kind and attributes of an op, as any namespace's `op` takes them.
dnnl::graph::op::kind kind_of(const json_graph::op &o);
logical_tensor logical_tensor_of(const json_graph::tensor &t);

template <typename Op>
void set_attributes(Op &to, const json_graph::op &o);

/// The C++ class of a graph's op with all that it has.
template <typename Api>
typename Api::op make_op(const json_graph::op &o) {
    typename Api::op result(o.id, kind_of(o), o.name);
    for (const auto &t : o.inputs)
        result.add_input(logical_tensor_of(t));
    for (const auto &t : o.outputs)
        result.add_output(logical_tensor_of(t));
    set_attributes(result, o);
    return result;
}

/// Who computes the MatMul of a dynquant::graph.
struct computed_by {
    bool is_layer = false; // one of dynquant's
    bool is_exact = false; // and nothing behind it is oneDNN's
    std::size_t ops = 0;   // in its partition
    std::string isa;
};

template <typename Api>
class chain_program final : public contestant {
  public:
    /// Compiles; throws dnnl::error. `data` has the inputs, and must outlive this.
    chain_program(const chain_graph &c, buffers &data) {
        typename Api::graph graph(dnnl::engine::kind::cpu);
        std::map<std::uint64_t, json_graph::tensor> tensors;
        for (const auto &o : c.g.ops) {
            graph.add_op(make_op<Api>(o));
            for (const auto *list : {&o.inputs, &o.outputs})
                for (const auto &t : *list)
                    tensors.emplace(t.id, t);
        }
        graph.finalize();
        std::set<std::uint64_t> known;
        for (const auto &t : c.inputs) {
            known.insert(t.id);
            addresses_[t.id] = data.at(t.id).data();
        }
        auto partitions = graph.get_partitions();
        while (!partitions.empty()) {
            const auto next = std::ranges::find_if(partitions, [&](const auto &p) {
                return std::ranges::all_of(
                        p.get_input_ports(), [&](const auto &t) { return known.count(t.get_id()) != 0; });
            });
            if (next == partitions.end() || !next->is_supported())
                throw dnnl::error(dnnl_unimplemented, "a partition is not supported");
            add(*next, tensors);
            for (const auto &t : next->get_output_ports())
                known.insert(t.get_id());
            note(*next, c);
            partitions.erase(next);
        }
    }

    void execute() override {
        for (auto &s : steps_)
            s.compiled.execute(stream_, s.inputs, s.outputs);
        stream_.wait();
    }

    const guarded_buffer &result(std::uint64_t id) const { return *made_.at(id); }
    std::size_t partitions() const { return steps_.size(); }
    const computed_by &by() const { return by_; }

  private:
    struct step {
        typename Api::compiled_partition compiled;
        std::vector<dnnl::graph::tensor> inputs, outputs;
    };

    template <typename Partition>
    void add(const Partition &p, const std::map<std::uint64_t, json_graph::tensor> &tensors) {
        std::vector<logical_tensor> in, out;
        for (const auto &t : p.get_input_ports())
            in.push_back(logical_tensor_of(tensors.at(t.get_id())));
        for (const auto &t : p.get_output_ports())
            out.push_back(logical_tensor_of(tensors.at(t.get_id())));
        step s {p.compile(in, out, cpu()), {}, {}};
        for (const auto &t : in)
            s.inputs.emplace_back(t, cpu(), addresses_.at(t.get_id()));
        for (const auto &t : out) {
            auto &made = made_[t.get_id()];
            made = std::make_unique<guarded_buffer>(static_cast<std::int64_t>(t.get_mem_size()));
            addresses_[t.get_id()] = made->data();
            s.outputs.emplace_back(t, cpu(), made->data());
        }
        steps_.push_back(std::move(s));
    }

    template <typename Partition>
    void note(const Partition &p, const chain_graph &c) {
        if constexpr (std::is_same_v<Api, with_dynquant>) {
            const auto ids = p.get_ops();
            const auto info = steps_.back().compiled.get_info();
            const bool is_by_onednn = info.kernel == dynquant::kernel_kind::onednn;
            if (std::ranges::count(ids, c.product) != 0)
                by_ = {!is_by_onednn, !is_by_onednn, ids.size(), info.isa};
            else if (is_by_onednn && by_.ops > 0)
                by_.is_exact = false;
        }
    }

    std::vector<step> steps_;
    std::map<std::uint64_t, void *> addresses_;
    std::map<std::uint64_t, std::unique_ptr<guarded_buffer>> made_;
    computed_by by_;
    dnnl::stream stream_ {cpu()};
};

} // namespace dqbench::layers

// Chains around a MatMul of integers, as a program builds and runs them: by dynquant::graph, or by oneDNN with the
// drop-in before it. And what they give, in exact integers and then f32, as docs/reference.md states it.
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <map>
#include <optional>
#include <string>
#include <vector>

#if defined(DYNQUANT_TEST_DROP_IN)
#include "oneapi/dnnl/dnnl_graph.hpp"
namespace dg = dnnl::graph;
#else
#include "dynquant/graph.hpp"
namespace dg = dynquant::graph;
#endif

namespace dynquant::test {

using dims = std::vector<std::int64_t>;
using lt = dg::logical_tensor;
using type = lt::data_type;
using layout = lt::layout_type;
using property = lt::property_type;
using kind = dg::op::kind;
using attr = dg::op::attr;

inline std::int64_t volume(const dims &extents) {
    std::int64_t result = 1;
    for (const auto extent : extents)
        result *= extent;
    return result;
}

inline dims row_major(const dims &extents) {
    dims strides(extents.size(), 1);
    for (std::size_t d = extents.size(); d-- > 1;)
        strides[d - 1] = strides[d] * std::max<std::int64_t>(extents[d], 1);
    return strides;
}

/// A buffer of a program.
using bytes = std::vector<std::byte>;

template <typename T>
bytes bytes_of(const std::vector<T> &values) {
    bytes result(values.size() * sizeof(T));
    if (!result.empty()) std::memcpy(result.data(), values.data(), result.size());
    return result;
}

template <typename T>
std::vector<T> values_of(const bytes &from) {
    std::vector<T> result(from.size() / sizeof(T));
    if (!result.empty()) std::memcpy(result.data(), from.data(), from.size());
    return result;
}

/// A graph and the data of its inputs.
struct program {
    std::vector<dg::op> ops;
    std::map<std::size_t, lt> inputs; // by id, with final dims and strides
    std::map<std::size_t, bytes> data;
    lt y; // as the program asks for it
    dg::fpmath_mode mode = dg::fpmath_mode::strict;

    template <typename T>
    program &give(const lt &t, const std::vector<T> &values) {
        inputs[t.get_id()] = t;
        data[t.get_id()] = bytes_of(values);
        return *this;
    }
};

inline const dg::engine &cpu() {
    static const dg::engine engine(dg::engine::kind::cpu, 0);
    return engine;
}

/// Once for each program: in oneDNN 3.2 an op keeps pointers to what read its results in a graph that is gone.
inline std::vector<dg::partition> partitions_of(
        const program &p, dg::partition::policy policy = dg::partition::policy::fusion) {
    dg::graph graph(dg::engine::kind::cpu, p.mode);
    for (const auto &op : p.ops)
        graph.add_op(op);
    graph.finalize();
    return graph.get_partitions(policy);
}

/// A partition that is compiled, with its lists.
struct compiled {
    dg::compiled_partition partition;
    std::vector<lt> inputs, outputs;

    bytes run(const std::map<std::size_t, bytes> &data) const {
        auto copies = data;
        std::vector<dg::tensor> in, out;
        static std::byte nothing[64]; // a tensor without elements may have no address
        const auto address = [](bytes &b) { return b.empty() ? nothing : b.data(); };
        for (const auto &t : inputs)
            in.emplace_back(t, cpu(), address(copies.at(t.get_id())));
        bytes y;
        for (const auto &t : outputs) {
            const auto final = partition.query_logical_tensor(t.get_id());
            y.assign(final.get_mem_size(), std::byte {0x5a});
            out.emplace_back(final, cpu(), address(y));
        }
        dg::stream stream(const_cast<dg::engine &>(cpu()));
        partition.execute(stream, in, out);
        stream.wait();
        return y;
    }
};

inline compiled compile(const dg::partition &p, const program &of) {
    compiled result;
    for (const auto &port : p.get_input_ports())
        result.inputs.push_back(of.inputs.at(port.get_id()));
    result.outputs = {of.y};
    result.partition = p.compile(result.inputs, result.outputs, cpu());
    return result;
}

} // namespace dynquant::test

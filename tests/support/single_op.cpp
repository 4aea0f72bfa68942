#include "single_op.hpp"

#include <algorithm>
#include <cstring>
#include <deque>
#include <stdexcept>

#include "direct.hpp"
#include "environment.hpp"

namespace dynquant::test {
namespace {

using layout = dg::logical_tensor::layout_type;
using attr = dg::op::attr;

data_type convert(integer_type type) {
    switch (type) {
        case integer_type::s8: return data_type::s8;
        case integer_type::u8: return data_type::u8;
        case integer_type::s32: return data_type::s32;
        default: return data_type::f32;
    }
}

dg::logical_tensor with_layout(std::size_t id, integer_type type, const dims &shape, const dims &strides) {
    if (strides.empty()) return {id, type, shape, layout::strided};
    return {id, type, shape, strides};
}

/// The offset of each element, in row-major order of the index.
std::vector<std::size_t> offsets(const dims &shape, const dims &strides) {
    std::vector<std::size_t> result = {0};
    for (std::size_t d = 0; d < shape.size(); ++d) {
        std::vector<std::size_t> longer;
        for (const auto offset : result)
            for (std::int64_t i = 0; i < shape[d]; ++i)
                longer.push_back(offset + static_cast<std::size_t>(i * strides[d]));
        result = std::move(longer);
    }
    return result;
}

tensor as_tensor(const dg::logical_tensor &t) {
    return {convert(t.get_data_type()), t.get_dims(), t.get_dims().empty() ? dims {} : t.get_strides()};
}

std::size_t element_bytes(const tensor &t) {
    return static_cast<std::size_t>(bits_in(t.type)) / 8;
}

/// Dense elements at their places, with a pattern between them.
std::vector<std::byte> scatter(const tensor &t, const std::vector<std::byte> &dense) {
    const auto places = offsets(t.dims, t.strides);
    const auto size = element_bytes(t);
    if (places.size() * size != dense.size())
        throw std::logic_error("single_op: as many values as elements are wanted");
    std::vector<std::byte> bytes(bytes_spanned(t), guarded_buffer::pattern);
    for (std::size_t i = 0; i < places.size(); ++i)
        std::memcpy(bytes.data() + places[i] * size, dense.data() + i * size, size);
    return bytes;
}

/// Dense elements of what was scattered.
std::vector<std::byte> gather(const tensor &t, const std::vector<std::byte> &bytes) {
    const auto places = offsets(t.dims, t.strides);
    const auto size = element_bytes(t);
    std::vector<std::byte> dense(places.size() * size);
    for (std::size_t i = 0; i < places.size(); ++i)
        std::memcpy(dense.data() + i * size, bytes.data() + places[i] * size, size);
    if (scatter(t, dense) != bytes) throw std::logic_error("bytes between the elements of dst were written");
    return dense;
}

/// Executes on the dense elements of src, and returns those of dst.
std::vector<std::byte> execute(const single_op &op, const variant &v, const std::vector<std::byte> &src) {
    const auto compiled = op.compile(v);
    const auto output = compiled.query_logical_tensor(single_op::dst);
    const auto dst_tensor = as_tensor(output);
    const auto logical = op.inputs();

    std::vector<std::vector<std::byte>> contents = {scatter(as_tensor(logical[0]), src)};
    if (op.dynamic()) {
        contents.push_back(bytes_of(op.scales));
        if (op.zps) contents.push_back(encode(convert(op.zps_type), *op.zps));
    }
    std::deque<guarded_buffer> buffers;
    std::vector<dg::tensor> inputs;
    for (std::size_t i = 0; i < logical.size(); ++i) {
        buffers.emplace_back(contents[i].size(), guarded_buffer::place::at_back).fill(contents[i]);
        inputs.emplace_back(logical[i], cpu(), buffers.back().data());
    }
    guarded_buffer dst(bytes_spanned(dst_tensor), guarded_buffer::place::at_back);
    dg::stream stream(cpu());
    compiled.execute(stream, inputs, {dg::tensor(output, cpu(), dst.data())});
    stream.wait();

    for (std::size_t i = 0; i < buffers.size(); ++i)
        if (!buffers[i].intact() || !buffers[i].holds(contents[i])) throw std::logic_error("an input was written");
    if (!dst.intact()) throw std::logic_error("bytes around dst were written");
    return gather(dst_tensor, dst.bytes());
}

} // namespace

const dg::engine &cpu() {
    static const dg::engine engine(dg::engine::kind::cpu, 0);
    return engine;
}

std::vector<dg::logical_tensor> single_op::inputs() const {
    std::vector<dg::logical_tensor> result;
    result.push_back(with_layout(src, quantizes() ? integer_type::f32 : integer, shape, src_strides));
    if (!dynamic()) return result;
    const auto vector_of = [](std::size_t id, integer_type type, std::size_t count) {
        return dg::logical_tensor(id, type, dims {static_cast<std::int64_t>(count)}, layout::strided);
    };
    result.push_back(vector_of(scales_port, integer_type::f32, scales.size()));
    if (zps) result.push_back(vector_of(zps_port, zps_type, zps->size()));
    return result;
}

dg::logical_tensor single_op::output() const {
    const auto type = quantizes() ? integer : integer_type::f32;
    const auto how = dst_layout_any ? layout::any : layout::strided;
    if (dst_rank_unknown) return {dst, type, how};
    if (dst_dims_unknown) return {dst, type, dims(shape.size(), DNNL_GRAPH_UNKNOWN_DIM), how};
    if (!dst_strides.empty()) return {dst, type, shape, dst_strides};
    return {dst, type, shape, how};
}

dg::compiled_partition single_op::compile(const variant &v) const {
    auto ins = inputs();
    auto outs = std::vector {output()};
    auto ports = ins;
    auto out_ports = outs;
    if (unknown_until_compile)
        for (auto *list : {&ports, &out_ports})
            for (auto &port : *list)
                port = dg::logical_tensor(port.get_id(), port.get_data_type());

    dg::op op(7, kind, ports, out_ports, "tested");
    if (qtype) op.set_attr(attr::qtype, *qtype);
    if (axis) op.set_attr(attr::axis, *axis);
    if (!dynamic()) {
        op.set_attr(attr::scales, scales);
        if (zps) op.set_attr(attr::zps, *zps);
    }
    dg::graph graph(dg::engine::kind::cpu, fpmath);
    graph.add_op(op);
    graph.finalize();
    const auto partitions = graph.get_partitions();
    if (partitions.size() != 1) throw std::logic_error("single_op: one op makes one partition");

    const scoped_variable kernel("DYNQUANT_KERNEL", to_string(v.kernel));
    const scoped_variable isa("DYNQUANT_MAX_ISA", to_string(v.max_isa));
    return partitions[0].compile(ins, outs, cpu());
}

std::vector<int> single_op::quantize(const variant &v, const std::vector<float> &values) const {
    const auto dst_bytes = execute(*this, v, encode_reals(data_type::f32, values));
    std::vector<int> result;
    for (std::size_t i = 0; i < dst_bytes.size(); ++i) // integers of 8 bits
        result.push_back(
                static_cast<int>(integer_from(convert(integer), std::to_integer<std::uint32_t>(dst_bytes[i]))));
    return result;
}

std::vector<float> single_op::dequantize(const variant &v, const std::vector<int> &values) const {
    const auto range = range_of(convert(integer));
    if (std::ranges::any_of(values, [&](int value) { return value < range.lowest || value > range.highest; }))
        throw std::logic_error("single_op: src does not fit its type");
    return decode_reals(data_type::f32, execute(*this, v, encode(convert(integer), {values.begin(), values.end()})));
}

} // namespace dynquant::test

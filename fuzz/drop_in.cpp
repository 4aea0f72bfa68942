// The drop-in as sequences of oneDNN's C calls, most of them as a program makes them, others with null pointers,
// counts, attributes and tensors that do not fit: each returns a status, and a run writes no more than its dst.
#include <algorithm>
#include <memory>
#include <optional>
#include <vector>

#include "oneapi/dnnl/dnnl.h"
#include "oneapi/dnnl/dnnl_graph.h"
#include "support/number_source.hpp"
#include "target.hpp"

namespace {

using dynquant::test::number_source;
using tensor_descriptor = dnnl_graph_logical_tensor_t;

class session {
  public:
    explicit session(const number_source &drawn)
        : n_(drawn) {
        expect(dnnl_engine_create(&engine_, dnnl_cpu, 0) == dnnl_success);
        expect(dnnl_stream_create(&stream_, engine_, dnnl_stream_default_flags) == dnnl_success);
        expect(dnnl_graph_graph_create(&graph_, dnnl_cpu) == dnnl_success);
    }
    ~session() {
        for (const auto op : ops_)
            dnnl_graph_op_destroy(op);
        for (const auto compiled : compiled_)
            dnnl_graph_compiled_partition_destroy(compiled);
        for (const auto partition : partitions_)
            dnnl_graph_partition_destroy(partition);
        dnnl_graph_graph_destroy(graph_);
        dnnl_stream_destroy(stream_);
        dnnl_engine_destroy(engine_);
    }
    session(const session &) = delete;
    session &operator=(const session &) = delete;

    void run() {
        for (auto left = n_.within(1, 4); left > 0; --left)
            add_op();
        if (!succeeds(dnnl_graph_graph_finalize(graph_))) return;
        if (n_.chance(10)) add_op(); // too late
        if (!succeeds(dnnl_graph_graph_filter(
                    graph_, n_.chance(70) ? dnnl_graph_partition_policy_fusion : dnnl_graph_partition_policy_debug)))
            return;
        std::size_t count = 0;
        if (!succeeds(dnnl_graph_graph_get_partition_num(graph_, &count))) return;
        expect(count <= ops_.size());
        partitions_.resize(count);
        if (!succeeds(dnnl_graph_graph_get_partitions(graph_, count, partitions_.data()))) return;
        for (const auto partition : std::vector(partitions_))
            use(partition);
    }

  private:
    static void expect(bool condition) { fuzz::expect(condition, "expected oneDNN's objects and counts"); }
    static void expect_status(dnnl_status_t status) {
        const int value = status;
        fuzz::expect(value >= 0 && value <= 16, "expected a status");
    }
    static bool succeeds(dnnl_status_t status) {
        expect_status(status);
        return status == dnnl_success;
    }

    tensor_descriptor draw_tensor(std::size_t id, dnnl_data_type_t type, std::vector<std::int64_t> shape) {
        tensor_descriptor t;
        if (n_.chance(3)) shape.resize(static_cast<std::size_t>(n_.within(0, 4)), 2);
        if (n_.chance(3) && !shape.empty()) shape[0] = n_.within(-2, 3);
        if (n_.chance(4)) type = static_cast<dnnl_data_type_t>(n_.within(0, 8));
        dnnl_graph_logical_tensor_init_with_dims(&t, id, type, static_cast<int>(shape.size()), shape.data(),
                n_.chance(90) ? dnnl_graph_layout_type_strided : dnnl_graph_layout_type_any,
                dnnl_graph_tensor_property_variable);
        if (n_.chance(10))
            for (int d = 0; d < t.ndims; ++d)
                t.layout.strides[d] = n_.within(0, 40);
        return t;
    }

    void add_attributes(dnnl_graph_op_t op, bool is_static, std::size_t parameters) {
        const char *const qtypes[] = {"per_tensor", "per_channel", "per_group", "per_chanel"};
        const std::string qtype = qtypes[n_.chance(90) ? (parameters > 1) : n_.within(0, 3)];
        if (n_.chance(90))
            expect_status(dnnl_graph_op_set_attr_str(op, dnnl_graph_op_attr_qtype, qtype.c_str(), qtype.size()));
        const std::int64_t axis = n_.chance(85) ? 1 : n_.within(-4, 4);
        if (n_.chance(80))
            expect_status(dnnl_graph_op_set_attr_s64(op, dnnl_graph_op_attr_axis, &axis, n_.chance(97) ? 1 : 0));
        if (!is_static) return;
        const std::vector<float> scales(n_.chance(95) ? parameters : 7, n_.chance(90) ? 0.5F : 0);
        const std::vector<std::int64_t> zps(n_.chance(95) ? parameters : 0, n_.within(-200, 300));
        expect_status(dnnl_graph_op_set_attr_f32(
                op, dnnl_graph_op_attr_scales, n_.chance(98) ? scales.data() : nullptr, scales.size()));
        if (n_.chance(80))
            expect_status(dnnl_graph_op_set_attr_s64(op, dnnl_graph_op_attr_zps, zps.data(), zps.size()));
    }

    void add_op() {
        const auto choice = n_.within(0, 5);
        const dnnl_graph_op_kind_t kinds[] = {dnnl_graph_op_dynamic_quantize, dnnl_graph_op_dynamic_dequantize,
                dnnl_graph_op_quantize, dnnl_graph_op_dequantize, dnnl_graph_op_matmul, dnnl_graph_op_relu};
        const bool quantizes = choice == 0 || choice == 2, is_static = choice == 2 || choice == 3,
                   is_product = choice == 4;
        dnnl_graph_op_t op = nullptr;
        const auto id = n_.chance(97) ? next_op_++ : 0;
        if (!succeeds(dnnl_graph_op_create(&op, id, kinds[choice], "op"))) return;
        ops_.push_back(op);
        const std::vector<std::int64_t> shape = {n_.within(1, 5), n_.chance(50) ? 3 : n_.within(1, 9)};
        const auto code = n_.chance(50) ? dnnl_s8 : dnnl_u8;
        const auto add_input = [&](const tensor_descriptor &t) {
            expect_status(dnnl_graph_op_add_input(op, n_.chance(99) ? &t : nullptr));
        };
        const auto x = !results_.empty() && n_.chance(60)
                ? results_[static_cast<std::size_t>(n_.within(0, std::ssize(results_) - 1))]
                : draw_tensor(next_tensor_++, quantizes || choice > 3 ? dnnl_f32 : code, shape);
        add_input(x);
        const auto parameters = static_cast<std::size_t>(n_.chance(50) ? 1 : shape[1]);
        if (choice < 4) add_attributes(op, is_static, parameters);
        if (choice < 2) {
            add_input(draw_tensor(next_tensor_++, dnnl_f32, {static_cast<std::int64_t>(parameters)}));
            if (n_.chance(60))
                add_input(draw_tensor(
                        next_tensor_++, n_.chance(50) ? code : dnnl_s32, {static_cast<std::int64_t>(parameters)}));
        }
        if (is_product)
            add_input(draw_tensor(next_tensor_++, dnnl_f32, {x.ndims > 1 ? x.dims[1] : 3, n_.within(1, 4)}));
        const auto y = draw_tensor(next_tensor_++, quantizes ? code : dnnl_f32,
                is_product ? std::vector<std::int64_t> {x.dims[0], n_.within(1, 4)}
                           : std::vector(x.dims, x.dims + std::clamp(x.ndims, 0, 12)));
        expect_status(dnnl_graph_op_add_output(op, &y));
        if (succeeds(dnnl_graph_add_op(graph_, op))) results_.push_back(y);
    }

    std::vector<tensor_descriptor> ports(dnnl_graph_partition_t partition, bool of_inputs) {
        std::size_t count = 0;
        const auto counted = of_inputs ? dnnl_graph_partition_get_input_ports_num(partition, &count)
                                       : dnnl_graph_partition_get_output_ports_num(partition, &count);
        if (!succeeds(counted)) return {};
        std::vector<tensor_descriptor> result(count);
        expect_status(of_inputs ? dnnl_graph_partition_get_input_ports(partition, count, result.data())
                                : dnnl_graph_partition_get_output_ports(partition, count, result.data()));
        return result;
    }

    /// Whether it has an op of the four, which dynquant computes; oneDNN's own are not its business.
    static bool is_ours(const std::vector<tensor_descriptor> &inputs, const std::vector<tensor_descriptor> &outputs) {
        const auto is_code = [](const tensor_descriptor &t) {
            return t.data_type == dnnl_s8 || t.data_type == dnnl_u8;
        };
        return std::ranges::any_of(inputs, is_code) || std::ranges::any_of(outputs, is_code);
    }

    void use(dnnl_graph_partition_t partition) {
        std::uint8_t supported = 0;
        expect_status(dnnl_graph_partition_is_supported(partition, &supported));
        auto inputs = ports(partition, true), outputs = ports(partition, false);
        if (!supported || !is_ours(inputs, outputs)) return;
        std::vector<const tensor_descriptor *> in, out;
        for (const auto &t : inputs)
            in.push_back(&t);
        for (const auto &t : outputs)
            out.push_back(&t);
        dnnl_graph_compiled_partition_t compiled = nullptr;
        if (!succeeds(dnnl_graph_compiled_partition_create(&compiled, partition))) return;
        compiled_.push_back(compiled);
        const auto fewer = n_.chance(3) && !in.empty() ? 1U : 0U;
        if (!succeeds(dnnl_graph_partition_compile(
                    partition, compiled, in.size() - fewer, in.data(), out.size(), out.data(), engine_)))
            return;
        execute(compiled, inputs, outputs);
    }

    /// From the first element to the last. oneDNN 3.2 tells fewer, where no stride is a multiple of the others.
    static std::optional<std::size_t> bytes_of(const tensor_descriptor &t) {
        if (t.layout_type != dnnl_graph_layout_type_strided || t.ndims < 0) return {};
        std::size_t last = 0;
        for (int d = 0; d < t.ndims; ++d) {
            if (t.dims[d] < 0 || t.layout.strides[d] < 0) return {};
            if (t.dims[d] == 0) return 0;
            last += static_cast<std::size_t>((t.dims[d] - 1) * t.layout.strides[d]);
        }
        return (last + 1) * (t.data_type == dnnl_s8 || t.data_type == dnnl_u8 ? 1 : 4);
    }

    void execute(dnnl_graph_compiled_partition_t compiled, std::vector<tensor_descriptor> &inputs,
            std::vector<tensor_descriptor> &outputs) {
        std::vector<std::unique_ptr<std::byte[]>> memory; // of exactly its bytes: a sanitizer sees what is beyond
        std::vector<dnnl_graph_tensor_t> tensors;
        std::vector<const_dnnl_graph_tensor_t> in, out;
        for (auto *side : {&inputs, &outputs})
            for (auto &t : *side) {
                expect_status(dnnl_graph_compiled_partition_query_logical_tensor(compiled, t.id, &t));
                const auto bytes = bytes_of(t);
                if (!bytes || *bytes > 1 << 20) return;
                memory.push_back(std::make_unique<std::byte[]>(*bytes));
                for (std::size_t i = 0; i < *bytes; ++i)
                    memory.back()[i] = static_cast<std::byte>(n_.bits());
                dnnl_graph_tensor_t tensor = nullptr;
                if (!succeeds(dnnl_graph_tensor_create(
                            &tensor, &t, engine_, n_.chance(98) ? memory.back().get() : nullptr)))
                    continue;
                tensors.push_back(tensor);
                (side == &inputs ? in : out).push_back(tensor);
            }
        for (auto times = n_.within(1, 2); times > 0; --times) {
            // A list of exactly its bytes, too.
            std::vector given(in.begin(), in.end() - (n_.chance(3) && !in.empty() ? 1 : 0));
            expect_status(dnnl_graph_compiled_partition_execute(
                    compiled, stream_, given.size(), given.data(), out.size(), out.data()));
        }
        expect_status(dnnl_stream_wait(stream_));
        for (const auto tensor : tensors)
            dnnl_graph_tensor_destroy(tensor);
    }

    number_source n_;
    dnnl_engine_t engine_ = nullptr;
    dnnl_stream_t stream_ = nullptr;
    dnnl_graph_graph_t graph_ = nullptr;
    std::size_t next_op_ = 0, next_tensor_ = 0;
    std::vector<dnnl_graph_op_t> ops_;
    std::vector<dnnl_graph_partition_t> partitions_;
    std::vector<dnnl_graph_compiled_partition_t> compiled_;
    std::vector<tensor_descriptor> results_;
};

} // namespace

int LLVMFuzzerTestOneInput(const std::uint8_t *data, std::size_t size) {
    session s(number_source(std::span(data, size)));
    s.run();
    return 0;
}

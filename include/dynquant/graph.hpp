// The oneDNN-Graph-shaped API. A program written for oneDNN Graph includes this header, changes one line of code,
//
//     namespace dg = dnnl::graph;      to      namespace dg = dynquant::graph;
//
// links dynquant, and keeps everything else. Value types are oneDNN's own. op, graph, partition and
// compiled_partition are dynquant's, with oneDNN's members, signatures and handle behaviour: copies
// share, an empty handle throws dnnl::error, bool and == work on the handle.
//
// The ops of this family: DynamicQuantize, DynamicDequantize, Quantize, Dequantize. A graph may also hold any other op
// of oneDNN. Then oneDNN partitions it: a partition that is a single op of this family runs in dynquant, and so does a
// layer, a MatMul or Convolution with Dequantize of its operands (docs/reference.md); every other one runs in oneDNN.
// Every error is a dnnl::error, and no dynquant::error, whose message names the op, the attribute or
// argument, what was expected and what was given. What is known at add_op is checked at add_op, the rest at compile,
// and only handles, counts and the stream's engine at execute.
//
// One op goes beyond oneDNN: DynamicQuantize with the attribute own::scale_rule computes its scales. Its input is src,
// its outputs are dst, scales and, for a rule of range minmax, zps. Its granularity is that of DynamicQuantize.
//
//     dg::op op(0, dg::op::kind::DynamicQuantize, {src}, {dst, scales, zps});
//     op.set_attr<std::string>(dg::own::scale_rule, "minmax");
//
// NVFP4's global scale, one f32, may be a second input beside scales of f8_e4m3. DynamicDequantize reads what was
// written, except under a global scale.
//
// Stricter than oneDNN, which lets these pass or fails later: attributes that an op does not have, two
// ops with one id, one logical tensor id for two different tensors, cycles, engines that are not CPUs.
//
// Thread safety: a compiled_partition may be executed from many threads at once. The other objects
// are like standard containers: concurrent reads are safe, a write needs exclusive access.
#pragma once

#include <array>
#include <string>
#include <type_traits>
#include <utility>
#include <vector>

#include "dynquant/error.hpp"
#include "dynquant/export.hpp"
#include "dynquant/newer_names.hpp"
#include "dynquant/quantization.hpp"
#include "oneapi/dnnl/dnnl_graph.hpp"
#include "oneapi/dnnl/dnnl_version.h"

namespace dynquant::graph {

using dnnl::error;
using dnnl::graph::allocator;
using dnnl::graph::engine;
using dnnl::graph::fpmath_mode;
using dnnl::graph::get_compiled_partition_cache_capacity;
using dnnl::graph::get_constant_tensor_cache;
using dnnl::graph::logical_tensor;
using dnnl::graph::make_engine_with_allocator;
using dnnl::graph::set_compiled_partition_cache_capacity;
using dnnl::graph::status;
using dnnl::graph::stream;
using dnnl::graph::tensor;

// Newer than 3.2.
#if DNNL_VERSION_MAJOR > 3 || DNNL_VERSION_MINOR >= 4
using dnnl::graph::get_constant_tensor_cache_capacity;
#endif
#if DNNL_VERSION_MAJOR > 3 || DNNL_VERSION_MINOR >= 11
using dnnl::graph::graph_dump_mode;
using dnnl::graph::set_dump_mode;
#endif

// The implementation of the classes below. It takes oneDNN's C structs only, so that a C ABI can be built on it as
// well.
namespace core {

struct op_record;
struct graph_record;
struct partition_record;
struct compiled_partition_record;

DYNQUANT_API op_record *create_op(size_t id, dnnl_graph_op_kind_t kind, const char *name);
DYNQUANT_API void add_input(op_record &op, const dnnl_graph_logical_tensor_t &port);
DYNQUANT_API void add_output(op_record &op, const dnnl_graph_logical_tensor_t &port);
DYNQUANT_API void set_attr_s64(op_record &op, dnnl_graph_op_attr_t attr, const int64_t *values, size_t count);
DYNQUANT_API void set_attr_f32(op_record &op, dnnl_graph_op_attr_t attr, const float *values, size_t count);
DYNQUANT_API void set_attr_bool(op_record &op, dnnl_graph_op_attr_t attr, bool value);
DYNQUANT_API void set_attr_str(op_record &op, dnnl_graph_op_attr_t attr, const char *text, size_t length);

DYNQUANT_API graph_record *create_graph(dnnl_engine_kind_t kind);
DYNQUANT_API graph_record *create_graph(dnnl_engine_kind_t kind, dnnl_fpmath_mode_t mode);
DYNQUANT_API void set_fpmath_mode(graph_record &g, dnnl_fpmath_mode_t mode, bool apply_to_int);
DYNQUANT_API void get_fpmath_mode(const graph_record &g, dnnl_fpmath_mode_t &mode, bool &apply_to_int);
DYNQUANT_API void add_op(graph_record &g, const op_record &op);
DYNQUANT_API void finalize(graph_record &g);
DYNQUANT_API bool is_finalized(const graph_record &g);
DYNQUANT_API size_t find_partitions(graph_record &g, dnnl_graph_partition_policy_t policy);
DYNQUANT_API partition_record *take_partition(graph_record &g, size_t index); // once for each index

DYNQUANT_API partition_record *create_partition(const op_record &op, dnnl_engine_kind_t kind);
DYNQUANT_API size_t get_id(const partition_record &p);
DYNQUANT_API size_t get_ops(const partition_record &p, const size_t *&ids);
DYNQUANT_API bool is_supported(const partition_record &p);
DYNQUANT_API dnnl_engine_kind_t get_engine_kind(const partition_record &p);
DYNQUANT_API size_t get_inputs(const partition_record &p, const dnnl_graph_logical_tensor_t *&ports);
DYNQUANT_API size_t get_outputs(const partition_record &p, const dnnl_graph_logical_tensor_t *&ports);
DYNQUANT_API compiled_partition_record *compile(const partition_record &p, size_t input_count,
        const dnnl_graph_logical_tensor_t *inputs, size_t output_count, const dnnl_graph_logical_tensor_t *outputs,
        dnnl_engine_t engine, dnnl_engine_kind_t kind);

DYNQUANT_API dnnl_graph_logical_tensor_t query_logical_tensor(const compiled_partition_record &c, size_t id);
DYNQUANT_API size_t get_inplace_ports(const compiled_partition_record &c, const dnnl_graph_inplace_pair_t *&pairs);
DYNQUANT_API dnnl_graph_logical_tensor_t get_scratchpad_logical_tensor(const compiled_partition_record &c);
DYNQUANT_API operation_info get_info(const compiled_partition_record &c);
DYNQUANT_API void execute(const compiled_partition_record &c, dnnl_stream_t stream, size_t input_count,
        const const_dnnl_graph_tensor_t *inputs, size_t output_count, const const_dnnl_graph_tensor_t *outputs,
        const_dnnl_graph_tensor_t scratchpad);

DYNQUANT_API void destroy(op_record *op) noexcept;
DYNQUANT_API void destroy(graph_record *g) noexcept;
DYNQUANT_API void destroy(partition_record *p) noexcept;
DYNQUANT_API void destroy(compiled_partition_record *c) noexcept;

/// Whether layers that are compiled from now on keep weights with the property `constant`. Thread safe.
DYNQUANT_API void keep_packed_weights(bool keep);

/// Traits of dnnl::handle for the records above.
template <typename Record>
struct owner {
    static dnnl_status_t destructor(Record *record) {
        destroy(record);
        return dnnl_success;
    }
};

template <typename Record>
using handle = dnnl::handle<Record *, owner<Record>>;

// logical_tensor's only member is its private C struct, and a standard-layout class may be read as its first member.
static_assert(std::is_standard_layout_v<logical_tensor>);
static_assert(sizeof(logical_tensor) == sizeof(dnnl_graph_logical_tensor_t));

// The types of attribute values.
template <typename Type>
inline constexpr bool is_attribute = std::disjunction_v<std::is_same<Type, int64_t>, std::is_same<Type, float>,
        std::is_same<Type, bool>, std::is_same<Type, std::string>, std::is_same<Type, std::vector<int64_t>>,
        std::is_same<Type, std::vector<float>>>;

inline const dnnl_graph_logical_tensor_t *c_structs(const logical_tensor *tensors) {
    return reinterpret_cast<const dnnl_graph_logical_tensor_t *>(tensors);
}

} // namespace core

/// oneDNN's functions. A flag of 0 and, from oneDNN 3.4 on, a capacity of 0 also make layers that are compiled later
/// pack their weights at each execution. Before any call layers keep them, whatever oneDNN's default is. Thread safe.
inline void set_constant_tensor_cache(int flag) {
    dnnl::graph::set_constant_tensor_cache(flag);
    core::keep_packed_weights(flag != 0);
}
#if DNNL_VERSION_MAJOR > 3 || DNNL_VERSION_MINOR >= 4
inline void set_constant_tensor_cache_capacity(engine::kind kind, size_t mebibytes) {
    dnnl::graph::set_constant_tensor_cache_capacity(kind, mebibytes);
    if (kind == engine::kind::cpu) core::keep_packed_weights(mebibytes != 0);
}
#endif

/// An operator: kind, id, ports and attributes. A graph takes a copy of it at add_op.
class op : public core::handle<core::op_record> {
  public:
    using kind = dnnl::graph::op::kind;
    using attr = dnnl::graph::op::attr;

    op(size_t id, kind akind, const std::string &verbose_name = "")
        : handle(core::create_op(id, static_cast<dnnl_graph_op_kind_t>(akind), verbose_name.c_str())) {}

    op(size_t id, kind akind, const std::vector<logical_tensor> &inputs, const std::vector<logical_tensor> &outputs,
            const std::string &verbose_name = "")
        : op(id, akind, verbose_name) {
        add_inputs(inputs);
        add_outputs(outputs);
    }

    void add_input(const logical_tensor &t) { core::add_input(*get(), *core::c_structs(&t)); }
    void add_output(const logical_tensor &t) { core::add_output(*get(), *core::c_structs(&t)); }

    void add_inputs(const std::vector<logical_tensor> &ts) {
        for (const auto &t : ts)
            add_input(t);
    }
    void add_outputs(const std::vector<logical_tensor> &ts) {
        for (const auto &t : ts)
            add_output(t);
    }

    /// Type is one of int64_t, float, bool, std::string, std::vector<int64_t>, std::vector<float>. The op
    /// takes any attribute of any value; add_op checks them.
    template <typename Type, std::enable_if_t<core::is_attribute<Type>, bool> = true>
    op &set_attr(attr name, const Type &value) {
        const auto c_name = static_cast<dnnl_graph_op_attr_t>(name);
        if constexpr (std::is_same_v<Type, int64_t>)
            core::set_attr_s64(*get(), c_name, &value, 1);
        else if constexpr (std::is_same_v<Type, float>)
            core::set_attr_f32(*get(), c_name, &value, 1);
        else if constexpr (std::is_same_v<Type, bool>)
            core::set_attr_bool(*get(), c_name, value);
        else if constexpr (std::is_same_v<Type, std::string>)
            core::set_attr_str(*get(), c_name, value.data(), value.size());
        else if constexpr (std::is_same_v<Type, std::vector<int64_t>>)
            core::set_attr_s64(*get(), c_name, value.data(), value.size());
        else
            core::set_attr_f32(*get(), c_name, value.data(), value.size());
        return *this;
    }
};

/// A partition compiled for given logical tensors; immutable.
class compiled_partition : public core::handle<core::compiled_partition_record> {
  public:
    compiled_partition() = default;
    explicit compiled_partition(core::compiled_partition_record *record)
        : handle(record) {}

    /// The logical tensor of a port, with final dims and layout. For an unknown id the result has id SIZE_MAX, as in
    /// oneDNN.
    logical_tensor query_logical_tensor(size_t tid) const {
        return logical_tensor(core::query_logical_tensor(*get(), tid));
    }

    /// Pairs of ids. Empty for an op of this family: none runs in place.
    std::vector<std::pair<size_t, size_t>> get_inplace_ports() const {
        const dnnl_graph_inplace_pair_t *pairs = nullptr;
        const size_t count = core::get_inplace_ports(*get(), pairs);
        std::vector<std::pair<size_t, size_t>> result;
        for (size_t i = 0; i < count; ++i)
            result.emplace_back(pairs[i].input_id, pairs[i].output_id);
        return result;
    }

    /// Empty for an op of this family: none needs one.
    logical_tensor get_scratchpad_logical_tensor() const {
        return logical_tensor(core::get_scratchpad_logical_tensor(*get()));
    }

    /// Not in oneDNN's API: the kernel and the instruction set that execute uses; {onednn, "graph"} for a partition
    /// that oneDNN runs.
    operation_info get_info() const { return core::get_info(*get()); }

    /// Runs synchronously. The tensors are matched by position to the lists given to compile. An op of this family
    /// reads only their handles and needs no scratchpad.
    void execute(stream &astream, const std::vector<tensor> &inputs, const std::vector<tensor> &outputs,
            const tensor &scratchpad = tensor()) const {
        const raw_tensors in(inputs), out(outputs);
        core::execute(*get(), astream.get(), inputs.size(), in.data, outputs.size(), out.data, scratchpad.get(true));
    }

  private:
    // The tensors of one call, on the stack. An op of this family has at most three inputs; a layer with all scales,
    // zps and a bias has nine, and one for each operand behind. Longer lists are on the heap: a frame for more takes 24
    // instructions of each call.
    struct raw_tensors {
        static constexpr size_t usual = 10;

        explicit raw_tensors(const std::vector<tensor> &tensors) {
            if (tensors.size() > usual) many.resize(tensors.size());
            data = tensors.size() > usual ? many.data() : few.data();
            for (size_t i = 0; i < tensors.size(); ++i)
                data[i] = tensors[i].get(true);
        }
        raw_tensors(const raw_tensors &) = delete;
        raw_tensors &operator=(const raw_tensors &) = delete;

        std::array<const_dnnl_graph_tensor_t, usual> few;
        std::vector<const_dnnl_graph_tensor_t> many;
        const_dnnl_graph_tensor_t *data;
    };
};

/// One op of this family, a layer, or one of oneDNN's partitions; ready to be compiled. A layer is a MatMul or a
/// Convolution of what (Dynamic)Dequantize gives, with what is around it: docs/reference.md.
class partition : public core::handle<core::partition_record> {
  public:
    using policy = dnnl::graph::partition::policy;

    partition() = default;
    explicit partition(core::partition_record *record)
        : handle(record) {}

    partition(const op &aop, engine::kind ekind)
        : handle(core::create_partition(*aop.get(), static_cast<dnnl_engine_kind_t>(ekind))) {}

    size_t get_ops_num() const { return get_ops().size(); }
    std::vector<size_t> get_ops() const {
        const size_t *ids = nullptr;
        const size_t count = core::get_ops(*get(), ids);
        std::vector<size_t> result;
        for (size_t i = 0; i < count; ++i)
            result.push_back(ids[i]);
        return result;
    }
    size_t get_id() const { return core::get_id(*get()); }

    /// True for an op of this family, as add_op refuses unsupported ones. Otherwise oneDNN's answer.
    bool is_supported() const { return core::is_supported(*get()); }

    engine::kind get_engine_kind() const { return static_cast<engine::kind>(core::get_engine_kind(*get())); }

    std::vector<logical_tensor> get_input_ports() const { return ports(core::get_inputs); }
    std::vector<logical_tensor> get_output_ports() const { return ports(core::get_outputs); }

    /// inputs and outputs are matched to the ports by id and replace the op's descriptions; their data types must
    /// agree. Tensors that the op does not have are ignored. Inputs need final dims and strides. Outputs may have
    /// unknown dims, which are inferred, and layout any: dst keeps a dense src's order of dims, scales and zps are
    /// row-major.
    compiled_partition compile(const std::vector<logical_tensor> &inputs, const std::vector<logical_tensor> &outputs,
            const engine &e) const {
        return compiled_partition(core::compile(*get(), inputs.size(), core::c_structs(inputs.data()), outputs.size(),
                core::c_structs(outputs.data()), e.get(), static_cast<dnnl_engine_kind_t>(e.get_kind())));
    }

  private:
    template <typename Get>
    std::vector<logical_tensor> ports(Get get_ports) const {
        const dnnl_graph_logical_tensor_t *first = nullptr;
        const size_t count = get_ports(*get(), first);
        std::vector<logical_tensor> result;
        for (size_t i = 0; i < count; ++i)
            result.emplace_back(first[i]);
        return result;
    }
};

/// A set of ops connected by logical tensor ids.
class graph : public core::handle<core::graph_record> {
  public:
    graph(engine::kind engine_kind)
        : handle(core::create_graph(static_cast<dnnl_engine_kind_t>(engine_kind))) {}

    graph(engine::kind engine_kind, fpmath_mode mode)
        : handle(core::create_graph(
                static_cast<dnnl_engine_kind_t>(engine_kind), static_cast<dnnl_fpmath_mode_t>(mode))) {}

    void set_fpmath_mode(fpmath_mode mode, bool apply_to_int = false) {
        core::set_fpmath_mode(*get(), static_cast<dnnl_fpmath_mode_t>(mode), apply_to_int);
    }
    void get_fpmath_mode(fpmath_mode &mode, bool &apply_to_int) const {
        dnnl_fpmath_mode_t c_mode;
        core::get_fpmath_mode(*get(), c_mode, apply_to_int);
        mode = static_cast<fpmath_mode>(c_mode);
    }

    /// Copies aop: later changes to it have no effect. A refused op leaves the graph unchanged. With allow_exception
    /// false, a refusal is returned as a status only.
    status add_op(const op &aop, bool allow_exception = true) {
        try {
            core::add_op(*get(), *aop.get());
        } catch (const dnnl::error &e) {
            if (allow_exception) throw;
            return static_cast<status>(e.status);
        }
        return status::success;
    }

    /// Throws (invalid_graph) when the ops form a cycle. A second call does nothing.
    void finalize() { core::finalize(*get()); }
    bool is_finalized() const { return core::is_finalized(*get()); }

    /// If every op is of this family: one partition for each op under any policy, producers before consumers, otherwise
    /// in the order of add_op. If not, oneDNN partitions around the layers that dynquant takes under policy fusion, and
    /// a partition that is one op of this family is dynquant's. Partitions keep the fpmath mode that the graph has at
    /// this call.
    std::vector<partition> get_partitions(partition::policy policy = partition::policy::fusion) {
        std::vector<partition> result;
        const size_t count = core::find_partitions(*get(), static_cast<dnnl_graph_partition_policy_t>(policy));
        result.reserve(count); // first, as a record that is taken must get its handle
        for (size_t i = 0; i < count; ++i)
            result.emplace_back(core::take_partition(*get(), i));
        return result;
    }
};

} // namespace dynquant::graph

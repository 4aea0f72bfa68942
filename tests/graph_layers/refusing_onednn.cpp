// oneDNN refuses one call, each of those that a program causes in its turn: the program gets an error or right results,
// and runs as before once oneDNN refuses none. The program's ops are run by dynquant::graph and by the drop-in, both on
// the table of oneDNN's functions below.
#include <functional>
#include <iterator>

#include <dlfcn.h>

#include "graph/execution.hpp"
#include "graph/onednn.hpp"
#include "small_convolution.hpp"

namespace dynquant::graph::core {
namespace {

long calls_until_refusal = -1; // negative: none is refused
long calls = 0;

/// The function of a status that stands in the table before oneDNN's.
template <auto member>
struct refusing;

template <typename... Arguments, dnnl_status_t (*onednn_functions::*member)(Arguments...)>
struct refusing<member> {
    static inline dnnl_status_t (*real)(Arguments...) = nullptr;

    static dnnl_status_t call(Arguments... arguments) {
        ++calls;
        return calls_until_refusal-- == 0 ? dnnl_out_of_memory : real(arguments...);
    }
};

/// Functions of the libraries behind this program, which itself defines some of these names where it is the drop-in.
template <auto member>
auto behind(const char *name, bool is_refused = true) {
    using function = std::remove_reference_t<decltype(std::declval<onednn_functions &>().*member)>;
    const auto real = reinterpret_cast<function>(dlsym(RTLD_NEXT, name));
    if constexpr (requires { refusing<member>::call; })
        if (real && is_refused) {
            refusing<member>::real = real;
            return function(refusing<member>::call);
        }
    return real;
}

/// Stands in for a function of newer ones where the installed oneDNN lacks it.
template <auto member, typename F>
void stand_in(onednn_functions &f, F function) {
    if (f.*member) return;
    refusing<member>::real = function;
    f.*member = refusing<member>::call;
}

/// oneDNN's functions, each of which may refuse, but for those that free.
onednn_functions make_table() {
    onednn_functions f {};
    const auto frees = [](const std::string &name) { return name.ends_with("_destroy"); };
#define DYNQUANT_ONEDNN(name, function) f.name = behind<&onednn_functions::name>(#function, !frees(#function));
#define DYNQUANT_NEWER_ONEDNN(name, function) f.name = behind<&onednn_functions::name>(#function);
#include "graph/onednn_functions.inc"
#undef DYNQUANT_NEWER_ONEDNN
#undef DYNQUANT_ONEDNN
    using table = onednn_functions;
    stand_in<&table::graph_set_fpmath_mode>(f, [](auto...) { return dnnl_success; });
    stand_in<&table::set_constant_tensor_cache_capacity>(f, [](auto...) { return dnnl_success; });
    stand_in<&table::compiled_partition_get_scratchpad_logical_tensor>(f, [](auto, auto *t) {
        *t = no_scratchpad();
        return dnnl_success;
    });
    stand_in<&table::compiled_partition_execute_v2>(f,
            [](auto compiled, auto stream, auto in, auto *inputs, auto out, auto *outputs, const_dnnl_graph_tensor_t) {
                return refusing<&table::compiled_partition_execute>::real(compiled, stream, in, inputs, out, outputs);
            });
    return f;
}

} // namespace

const onednn_functions &onednn() {
    static const auto functions = make_table();
    return functions;
}

} // namespace dynquant::graph::core

#if defined(DYNQUANT_TEST_DROP_IN) // what else the drop-in's sources ask of its table
#include "onednn_graph/newer_functions.hpp"
#include "onednn_graph/next.hpp"

namespace dynquant::onednn_graph {

bool has_onednn() {
    return true;
}
void tell_wrong_environment() {}
std::string explain_unsupported_runtime() {
    return "";
}

} // namespace dynquant::onednn_graph
#endif

namespace dynquant::test {
namespace {

using graph::core::calls;
using graph::core::calls_until_refusal;

/// Runs a program, whose results are `expected`, as often as it causes calls of oneDNN, and once more. A call that is
/// refused is an exception, or dynquant or oneDNN finds another way to the same results. Returns how many were
/// exceptions.
long refuse_each_call(const std::function<floats()> &run, const floats &expected) {
    calls = 0;
    EXPECT_EQ(run(), expected);
    const auto count = calls;
    EXPECT_GT(count, 0);
    long errors = 0;
    for (long i = 0; i < count; ++i) {
        SCOPED_TRACE(testing::Message() << "call " << i << " of " << count << " is refused");
        calls_until_refusal = i;
        try {
            EXPECT_EQ(run(), expected);
        } catch (const dnnl::error &e) {
            ++errors;
            const std::string message = e.message;
#if !defined(DYNQUANT_TEST_DROP_IN) // whose program gets a status, and oneDNN's text for it
            EXPECT_TRUE(
                    message.find(": oneDNN could not ") != message.npos || message.find(": expected ") != message.npos)
                    << message;
#endif
            EXPECT_FALSE(message.empty());
        } catch (const std::exception &e) {
            ADD_FAILURE() << e.what();
        }
        EXPECT_LT(calls_until_refusal, 0) << "the call was not reached";
        calls_until_refusal = -1;
    }
    EXPECT_EQ(run(), expected);
    return errors;
}

floats floats_of(const program &p, std::size_t id) {
    const auto codes = data_of<std::int8_t>(p, id);
    return {codes.begin(), codes.end()};
}

TEST(refusing_onednn, around_two_layers) {
    const auto run = [] {
        two_chains p;
        p.ops.insert(p.ops.begin(), dg::op(112, kind::ReLU, {f32(70, {2, 3})}, {f32(71, {2, 3})}, "relu"));
        p.give(f32(70, {2, 3}), floats {-7, 0.5F, 1, 0, -1, 2});
        run_in_order(partitions_of(p), p);
        auto result = data_of(p, 60);
        std::ranges::copy(data_of(p, 71), std::back_inserter(result));
        return result;
    };
    EXPECT_GT(refuse_each_call(run, {-5 + 0.75F, -8 + 4.5F, 0, 0.5F, 1, 0, 0, 2}), 0);
}

TEST(refusing_onednn, around_a_convolution) {
    const auto run = [] {
        small_convolution p(true);
        p.mode = dg::fpmath_mode::any;
        run_in_order(partitions_of(p), p);
        return data_of(p, 20);
    };
    EXPECT_GT(refuse_each_call(run, small_result), 0);
}

/// x / 0.5 of -7 0.5 1, 0 -1 2, from 0, by Quantize, whose zps oneDNN 3.2 wants.
program quantize(const std::vector<lt> &between) {
    program p;
    const lt x = f32(70, {2, 3}), q = s8(72, {2, 3});
    p.give(x, floats {-7, 0.5F, 1, 0, -1, 2});
    auto from = x;
    for (const auto &t : between) {
        p.ops.push_back({110 + p.ops.size(), kind::ReLU, {from}, {t}, "relu"});
        from = t;
    }
    p.ops.push_back(dg::op(120, kind::Quantize, {from}, {q}, "q").set_attr(attr::scales, floats {0.5F}));
    p.y = q;
    return p;
}

TEST(refusing_onednn, behind_an_op_of_onednns) {
    const auto run = [] {
        auto p = quantize({f32(71, {2, 3})});
        run_in_order(partitions_of(p), p);
        return floats_of(p, 72);
    };
    EXPECT_GT(refuse_each_call(run, {0, 1, 2, 0, 0, 4}), 0);
}

TEST(refusing_onednn, in_a_graph_of_one_op) {
    const auto run = [] {
        auto p = quantize({});
        run_in_order(partitions_of(p), p);
        return floats_of(p, 72);
    };
    EXPECT_GT(refuse_each_call(run, {-14, 1, 2, 0, -2, 4}), 0);
}

TEST(refusing_onednn, in_a_partition_of_one_op) {
    const auto run = [] {
        auto p = quantize({});
        const dg::partition partition(p.ops.front(), dg::engine::kind::cpu);
        EXPECT_TRUE(partition.is_supported());
        const auto compiled = compile(partition, p);
        EXPECT_TRUE(compiled.partition.get_inplace_ports().empty());
        const auto codes = values_of<std::int8_t>(compiled.run(p.data));
        return floats(codes.begin(), codes.end());
    };
    EXPECT_GT(refuse_each_call(run, {-14, 1, 2, 0, -2, 4}), 0);
}

std::size_t id_of_scratchpad(const dg::compiled_partition &compiled) {
#if defined(DYNQUANT_TEST_DROP_IN)
    auto result = graph::core::no_logical_tensor();
    dnnl::error::wrap_c_api(dnnl_graph_compiled_partition_get_scratchpad_logical_tensor(compiled.get(), &result),
            "could not tell the scratchpad");
    return result.id;
#else
    return compiled.get_scratchpad_logical_tensor().get_id();
#endif
}

TEST(refusing_onednn, in_a_partition_of_onednns) {
    const auto run = [] {
        auto p = quantize({f32(71, {2, 3})});
        p.y = f32(71, {2, 3});
        const dg::partition partition(p.ops.front(), dg::engine::kind::cpu);
        EXPECT_TRUE(partition.is_supported());
        const auto compiled = compile(partition, p);
        EXPECT_LT(compiled.partition.get_inplace_ports().size(), 2U);
        EXPECT_EQ(id_of_scratchpad(compiled.partition), graph::core::no_scratchpad().id);
        return values_of<float>(compiled.run(p.data));
    };
    EXPECT_GT(refuse_each_call(run, {0, 0.5F, 1, 0, 0, 2}), 0);
}

/// Calls f(), and once more where that throws.
template <typename F>
auto repeated(F &&f) {
    try {
        return f();
    } catch (const dnnl::error &) {
        return f();
    }
}

TEST(refusing_onednn, of_a_call_that_is_then_repeated) {
    const auto run = [] {
        auto p = repeated([] { return quantize({f32(71, {2, 3})}); });
        std::ranges::reverse(p.ops); // dynquant's graph has an op before it needs one of oneDNN
        auto graph = repeated([] { return dg::graph(dg::engine::kind::cpu); });
        for (const auto &op : p.ops)
            repeated([&] { graph.add_op(op); });
        repeated([&] { graph.finalize(); });
        const auto partitions = repeated([&] { return graph.get_partitions(); });
        for (const auto &each : partitions)
            repeated([&] { run_in_order({each}, p); });
        return floats_of(p, 72);
    };
    EXPECT_EQ(refuse_each_call(run, {0, 1, 2, 0, 0, 4}), 0);
}

#if defined(DYNQUANT_TEST_DROP_IN)
TEST(refusing_onednn, that_sets_a_mode_of_graphs_and_the_capacity_of_its_cache) {
    const auto run = [] {
        auto p = small_chain().give_data();
        dg::graph graph(dg::engine::kind::cpu);
        for (const auto &op : p.ops)
            graph.add_op(op);
        using dnnl::error;
        error::wrap_c_api(dnnl_graph_graph_set_fpmath_mode(graph.get(), dnnl_fpmath_mode_any, 0), "could not set it");
        for (const std::size_t capacity : {0U, 1U})
            error::wrap_c_api(dnnl_graph_set_constant_tensor_cache_capacity(dnnl_cpu, capacity), "could not set it");
        graph.finalize();
        run_in_order(graph.get_partitions(), p);
        return data_of(p, 20);
    };
    EXPECT_GT(refuse_each_call(run, small_product), 0);
}

/// dynquant refuses a zero point that s32 lacks, and oneDNN takes it.
TEST(refusing_onednn, beside_an_op_that_is_left_to_onednn) {
    const auto run = [] {
        auto p = small_chain().give_data();
        p.ops.push_back(with_scales(
                {120, kind::Quantize, {f32(70, {1})}, {s8(71, {1})}, "left"}, {1}, {std::int64_t {1} << 40}));
        for (const auto &each : partitions_of(p))
            if (each.get_ops_num() == 3) return values_of<float>(compile(each, p).run(p.data));
        run_in_order(partitions_of(small_chain().give_data()), p); // oneDNN has refused what finds the layer
        return data_of(p, 20);
    };
    EXPECT_GT(refuse_each_call(run, small_product), 0);
}
#endif

} // namespace
} // namespace dynquant::test

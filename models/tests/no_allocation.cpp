// A model allocates nothing after its first run. Allocations within oneDNN, one or more for each primitive, do not
// count. This is a separate program, because counting_new.cpp replaces operator new.
#include <atomic>

#include <dlfcn.h>
#include <gtest/gtest.h>

#include "graph_builder.hpp"
#include "oneapi/dnnl/dnnl.h"
#include "support/failing_allocations.hpp"

namespace {

std::atomic<long> by_onednn {0};

} // namespace

/// Interposes oneDNN's function, in the library as well, and counts the allocations within it.
[[gnu::visibility("default")]] dnnl_status_t dnnl_primitive_execute(
        const_dnnl_primitive_t primitive, dnnl_stream_t stream, int count, const dnnl_exec_arg_t *arguments) {
    static const auto execute =
            reinterpret_cast<decltype(&dnnl_primitive_execute)>(dlsym(RTLD_NEXT, "dnnl_primitive_execute"));
    const long before = dynquant::test::allocations();
    const auto status = execute(primitive, stream, count, arguments);
    by_onednn += dynquant::test::allocations() - before;
    return status;
}

namespace dynquant::models {
namespace {

using test::graph_builder;
namespace type = test::type;

long allocations_of(const graph &g, int threads, bool fuse) {
    model_options options;
    options.threads = threads;
    options.fuse = fuse;
    const auto m = model::parse(write(g), "test.onnx", options);
    constexpr std::size_t most = 16384; // bytes of the largest input or output
    alignas(64) static std::byte x[most], y[most];
    const std::vector<const void *> inputs {x};
    const std::vector<void *> outputs {y};
    return dynquant::test::allocations_of_ten(
            [&] { m.run(inputs, outputs); }, [] { return dynquant::test::allocations() - by_onednn; });
}

void expect_none(graph_builder b) {
    const auto g = b.finished();
    for (const int threads : {0, 1, 2})
        for (const bool fuse : {false, true})
            EXPECT_EQ(allocations_of(g, threads, fuse), 0) << threads << " threads, fused: " << fuse;
}

graph_builder product() {
    graph_builder b({type::uint8, {3, 20}});
    b.then("MatMulInteger", {b.weights({20, 5}, 100)});
    b.then("Add", {b.constant<std::int32_t>(type::int32, {5}, {1, 2, 3, 4, 5})});
    return b.cast(type::float32).mul(3).mul(0x1p-9F);
}

TEST(model_no_allocation, fully_connected) {
    expect_none(product().then("Relu").quantize(type::uint8));
}

TEST(model_no_allocation, activations) {
    expect_none(product().quantize(type::int8).dequantize(type::int8, 0.1F).then("Tanh").quantize(type::int8, 0.01F));
    expect_none(product().cast(type::float16).then("Sigmoid").cast(type::float32).quantize(type::uint8, 0.01F));
}

TEST(model_no_allocation, convolutions_and_what_goes_between) {
    graph_builder b({type::float32, {2, 3, 6, 6}});
    b.quantize(type::uint8, 0.1F)
            .then("ConvInteger", {b.weights({4, 3, 3, 3}, 108)}, {{"pads", std::vector<std::int64_t> {1, 1, 1, 1}}});
    b.cast(type::float32).mul(0.001F).quantize(type::int8);
    b.then("MaxPool", {}, {{"kernel_shape", std::vector<std::int64_t> {2, 2}}}).then("Transpose").then("Flatten");
    expect_none(b.dequantize(type::int8, 0.1F));
}

TEST(model_no_allocation, a_convolution_whose_windows_are_gathered) {
    graph_builder b({type::int8, {2, 4, 5, 5}});
    b.then("ConvInteger",
            {b.weights({4, 2, 3, 3}, 72), b.constant<std::int8_t>(type::int8, {}, {3}),
                    b.constant<std::int8_t>(type::int8, {4}, {1, 0, -1, 2})},
            {{"group", std::int64_t {2}}, {"pads", std::vector<std::int64_t> {1, 1, 1, 1}}});
    expect_none(b.cast(type::float32).mul(0.001F).quantize(type::int8));
}

TEST(model_no_allocation, sums_in_several_slices) {
    constexpr std::int64_t inner = 2000, rows = 6; // fewer rows are not split into slices
    graph_builder b({type::uint8, {rows, inner}});
    b.then("MatMulInteger", {b.constant(type::int8, {inner, 2}, std::vector<std::int8_t>(2 * inner, 127))});
    expect_none(b.cast(type::float32).mul(0x1p-20F).quantize(type::uint8));
}

/// The file is parsed by protobuf, whose messages are freed too.
TEST(models_failing_allocations, of_files) {
    const auto file = write(product().finished());
    for (const bool fuse : {false, true}) {
        model_options options;
        options.fuse = fuse;
        EXPECT_GT(dynquant::test::failed_allocations([&] { model::parse(file, "test.onnx", options); }), 50);
    }
}

} // namespace
} // namespace dynquant::models

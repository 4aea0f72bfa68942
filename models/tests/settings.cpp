// A model accepts any number of threads from 0 on, and neither depends on nor changes the caller's floating-point
// environment.
#include <algorithm>
#include <limits>
#include <optional>
#include <set>
#include <sstream>

#include <gtest/gtest.h>
#include <tbb/task_arena.h>

#include "graph_builder.hpp"
#include "support/environment.hpp"
#include "support/fails.hpp"

namespace dynquant::models {
namespace {

using test::graph_builder;
namespace type = test::type;

void rescale(graph_builder &b, const dims &bias_shape, std::size_t channels) {
    b.then("Add", {b.constant(type::int32, bias_shape, std::vector<std::int32_t>(channels, 77))});
    b.cast(type::float32).mul(5).mul(0x1p-10F);
}

/// A network with a layer of each kind, whose inputs and outputs are subnormal floats. It is large enough for several
/// threads.
graph network() {
    graph_builder b({type::float32, {2, 3, 32, 32}});
    b.quantize(type::uint8, 0x1p-140F, 9);
    b.then("ConvInteger", {b.weights({16, 3, 3, 3}, 432)}, {{"pads", std::vector<std::int64_t> {1, 1, 1, 1}}});
    rescale(b, {1, 16, 1, 1}, 16);
    b.then("Relu").quantize(type::uint8);
    b.then("MaxPool", {}, {{"kernel_shape", std::vector<std::int64_t> {2, 2}}});
    b.then("Transpose", {}, {{"perm", std::vector<std::int64_t> {0, 2, 3, 1}}});
    b.then("Reshape", {b.constant<std::int64_t>(type::int64, {2}, {-1, 16})});
    b.then("MatMulInteger", {b.weights({16, 48}, 16 * 48)});
    rescale(b, {48}, 48);
    b.cast(type::float16).then("Tanh").cast(type::float32).quantize(type::int8, 1 / 127.F);
    b.then("MatMulInteger", {b.weights({48, 50}, 48 * 50)});
    rescale(b, {50}, 50);
    b.quantize(type::int8).dequantize(type::int8, 0.03F).then("Sigmoid").quantize(type::uint8, 1 / 255.F);
    b.dequantize(type::uint8, 0x1.8p-145F);
    return b.finished();
}

std::vector<float> subnormal_inputs() {
    std::vector<float> x(2 * 3 * 32 * 32);
    for (std::size_t i = 0; i < x.size(); ++i)
        x[i] = static_cast<float>(i * 7919 % 270) * 0x1.4p-140F;
    return x;
}

/// Built while no exception traps.
struct job {
    std::string bytes = write(network());
    std::vector<float> x = subnormal_inputs();

    /// Loads and runs the network under the current environment; the bits of its result.
    std::vector<std::uint32_t> results(int threads, bool fuse, std::optional<isa> max_isa = {}) const {
        model_options options;
        options.kernel.max_isa = max_isa;
        options.threads = threads;
        options.fuse = fuse;
        const auto m = model::parse(bytes, "m.onnx", options);
        std::vector<std::uint32_t> y(static_cast<std::size_t>(m.outputs().front().shape.front()) * 50);
        m.run({x.data()}, {y.data()});
        return y;
    }
};

TEST(model_settings, any_number_of_threads_will_do) {
    const job j;
    const auto expected = j.results(1, true);
    testing::internal::CaptureStderr(); // TBB warns there
    for (const int threads : {2, 1000, 10'000'000, std::numeric_limits<int>::max()})
        EXPECT_EQ(j.results(threads, true), expected) << threads;
    EXPECT_EQ(testing::internal::GetCapturedStderr(), "");
}

TEST(model_settings, every_instruction_set_gives_the_same) {
    const job j;
    const auto expected = j.results(1, true);
    for (const auto cap : {isa::scalar, isa::avx2, isa::avx512})
        for (const bool fuse : {false, true})
            EXPECT_EQ(j.results(1, fuse, cap), expected) << to_string(cap);
}

TEST(model_settings, negative_numbers_of_threads_are_refused) {
    const auto refused = [](const model_options &options, const char *message) {
        return dynquant::test::fails(
                [&] { model::parse(write(product_graph()), "m.onnx", options); }, status::invalid_arguments, message);
    };
    model_options options;
    options.threads = -1;
    EXPECT_TRUE(refused(options, "threads: expected 0 or more, given -1"));
    options.threads = 0;
    options.kernel.threads = std::numeric_limits<int>::min();
    EXPECT_TRUE(refused(options, "kernel.threads: expected 0 or more, given -2147483648"));
}

#if DYNQUANT_TEST_CONTROL_WORD

namespace control = dynquant::test::control;

std::vector<unsigned> roundings_flushings_and_traps() {
    std::vector<unsigned> words;
    for (const unsigned rounding : {0U, control::down, control::up, control::toward_zero})
        for (const unsigned flushing : {0U, control::ftz, control::daz, control::ftz | control::daz})
            for (const unsigned masks : {0U, control::masks})
                if (const auto word = rounding | flushing | masks; std::ranges::find(words, word) == words.end())
                    words.push_back(word);
    return words;
}

/// ctest runs each case in a separate process: oneDNN caches primitives, and TBB keeps the control word of a thread's
/// arena.
class model_float_environment : public testing::TestWithParam<unsigned> {};

TEST_P(model_float_environment, neither_matters_nor_changes) {
    const job j;
    std::vector<std::vector<std::uint32_t>> given;
    unsigned after = 0;
    {
        const dynquant::test::scoped_control_word set(GetParam());
        for (const int threads : {0, 1, 3})
            given.push_back(j.results(threads, true));
        given.push_back(j.results(3, false));
        tbb::task_arena(3).execute([&] { given.push_back(j.results(0, true)); });
        after = dynquant::test::control_word();
    }
    EXPECT_EQ(after, GetParam());
    const auto expected = j.results(1, true);
    for (std::size_t i = 0; i < given.size(); ++i)
        EXPECT_EQ(given[i], expected) << i;
    EXPECT_GT(std::set(expected.begin(), expected.end()).size(), 20U);
}

INSTANTIATE_TEST_SUITE_P(control_words, model_float_environment, testing::ValuesIn(roundings_flushings_and_traps()),
        [](const auto &value) {
            std::ostringstream name;
            name << "control_word_" << std::hex << value.param;
            return name.str();
        });

#endif

} // namespace
} // namespace dynquant::models

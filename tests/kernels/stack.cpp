// A run takes at most 48 KB of stack, because threads of other programs may have only 64 KB.
#include <algorithm>
#include <cstring>
#include <functional>

#include <gtest/gtest.h>
#include <pthread.h>
#include <sys/mman.h>
#include <unistd.h>

#include "dynquant/onnx.hpp"
#include "support/direct.hpp"
#include "support/guarded_buffer.hpp"
#include "support/random.hpp"
#if DYNQUANT_TEST_ONEDNN
#include "support/single_op.hpp"
#endif

namespace dynquant::test {
namespace {

constexpr std::size_t most_of_run = 48 * 1024, ample = 1024 * 1024;

/// 64 KB, or as few more as the C library takes.
std::size_t smallest_thread() {
    return std::max<std::size_t>(64 * 1024, static_cast<std::size_t>(sysconf(_SC_THREAD_STACK_MIN)));
}

/// A thread's stack, above an inaccessible page.
class painted_stack {
  public:
    explicit painted_stack(std::size_t size)
        : size_(size)
        , memory_(static_cast<unsigned char *>(
                  mmap(nullptr, page + size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0))) {
        if (memory_ == MAP_FAILED || mprotect(memory_, page, PROT_NONE) != 0)
            throw std::runtime_error("no memory for a stack");
        std::memset(memory_ + page, paint, size);
    }
    ~painted_stack() { munmap(memory_, page + size_); }
    painted_stack(const painted_stack &) = delete;
    painted_stack &operator=(const painted_stack &) = delete;

    /// Calls f on a thread with this stack, and returns the bytes from the deepest change to the stack's base.
    std::size_t used_by(const std::function<void()> &f) {
        pthread_attr_t attributes;
        pthread_attr_init(&attributes);
        pthread_t thread;
        const auto call = [](void *function) -> void * {
            (*static_cast<const std::function<void()> *>(function))();
            return nullptr;
        };
        const bool runs = pthread_attr_setstack(&attributes, memory_ + page, size_) == 0
                && pthread_create(&thread, &attributes, call, const_cast<std::function<void()> *>(&f)) == 0;
        pthread_attr_destroy(&attributes);
        if (!runs) throw std::runtime_error("no thread");
        pthread_join(thread, nullptr);
        const auto *const begin = memory_ + page, *const end = begin + size_;
        return static_cast<std::size_t>(end - std::find_if(begin, end, [](auto byte) { return byte != paint; }));
    }

  private:
    static constexpr unsigned char paint = 0xa5;

    const std::size_t page = static_cast<std::size_t>(sysconf(_SC_PAGESIZE));
    std::size_t size_;
    unsigned char *memory_;
};

/// The stack of a thread that does nothing. It holds thread-local variables, among others.
std::size_t idle() {
    static const auto bytes = painted_stack(ample).used_by([] {});
    return bytes;
}

/// Whether `run` takes at most 48 KB of stack. Calls it once more on a thread with 64 KB.
testing::AssertionResult fits(const std::function<void()> &run) {
    const auto used = painted_stack(ample).used_by(run) - idle();
    if (used > most_of_run) return testing::AssertionFailure() << used << " bytes of stack";
    painted_stack(smallest_thread()).used_by(run);
    return testing::AssertionSuccess();
}

testing::AssertionResult fits_on_every_kernel(const sample &s, int threads = 1) {
    for (const auto &v : variants_for(s)) {
        auto options = v.forced();
        options.threads = threads;
        const auto op = prepare(s.q, options);
        auto dst = s.expected;
        std::ranges::fill(dst, guarded_buffer::pattern);
        const arguments args = {
                s.in.src.data(), s.in.scales.data(), s.in.zero_points.data(), dst.data(), s.in.second_scales.data()};
        auto result = fits([&] { op.run(args); });
        if (result) result = result_right(s, dst);
        if (!result) return testing::AssertionFailure() << v << ", " << describe(s.q) << ": " << result.message();
    }
    return testing::AssertionSuccess();
}

struct types {
    direction dir;
    data_type real, quantized;
};

class stack : public testing::TestWithParam<types> {
  protected:
    /// Draws a statement's data. The rule is ONNX's if oneDNN's rules lack the types.
    static sample stated(const dims &extents, const dims &block, dims src_strides = {}, dims dst_strides = {}) {
        const auto &[dir, real, quantized] = GetParam();
        auto q = statement_of(dir, real, quantized, extents, block, quantized);
        q.src.strides = std::move(src_strides);
        q.dst.strides = std::move(dst_strides);
        if (check(q)) q.rule = numerics::onnx;
        random_source random(1);
        return random_sample(random, q, parameters::tame);
    }
};

TEST_P(stack, rows) {
    for (const auto &[extents, block] : {std::pair {dims {5000}, dims {5000}}, {{3, 30, 49}, {3, 1, 49}},
                 // A parameter for each element.
                 {{60, 70}, {60, 1}}, {{3, 2100}, {3, 1}}, // more than a chunk
                 {{8, 130, 5}, {8, 1, 5}},                 // runs of several columns, in many rows
                 {{700, 3}, {700, 1}},                     // a short pattern repeated
                 {{33, 96}, {1, 32}},                      // in blocks along the row
                 {{70, 48}, {32, 1}}})                     // in blocks of rows
        EXPECT_TRUE(fits_on_every_kernel(stated(extents, block)));
}

TEST_P(stack, strides) {
    for (const dims &block : {dims {3, 1}, dims {3, 1100}})
        EXPECT_TRUE(fits_on_every_kernel(stated({3, 1100}, block, {2200, 2}, {2200, 2})));
}

TEST_P(stack, permuted) {
    const dims extents = {2, 130, 66}, src = {130 * 66, 1, 130};
    for (const dims &block : {extents, dims {2, 1, 66}, dims {2, 130, 1}, dims {2, 130, 33}, dims {2, 1, 1}})
        EXPECT_TRUE(fits_on_every_kernel(stated(extents, block, src)));
    EXPECT_TRUE(fits_on_every_kernel(stated({2, 3, 400}, {2, 1, 400}, {}, {1200, 1, 3}))); // narrow rows
    EXPECT_TRUE(fits_on_every_kernel(stated({70, 1100}, {70, 1}, {1, 70})));               // and wide ones
}

TEST_P(stack, several_tasks) {
    EXPECT_TRUE(fits_on_every_kernel(stated({2, 70000}, {1, 70000}), 2));
}

using enum data_type;
constexpr auto quantize = direction::quantize, dequantize = direction::dequantize;

INSTANTIATE_TEST_SUITE_P(types, stack,
        testing::Values(types {quantize, f32, u8}, types {dequantize, f32, u8}, types {quantize, f16, s8},
                types {dequantize, bf16, s8}, types {quantize, f16, u4}, types {dequantize, f16, u4},
                types {quantize, bf16, s16}, types {dequantize, f32, s16}, types {quantize, f32, f8_e4m3},
                types {dequantize, f16, f8_e5m2}, types {quantize, f32, f4_e2m1}, types {dequantize, f32, f4_e2m1},
                types {quantize, f32, f6_e2m3}, types {dequantize, f32, f6_e3m2}),
        [](const auto &value) {
            const types &of = value.param;
            return std::string(to_string(of.dir)) + '_' + to_string(of.real) + '_' + to_string(of.quantized);
        });

TEST(stack_of, quotients_of_every_type) {
    for (const auto &[type, division] :
            {std::pair {f32, precision::f32}, {f16, precision::f16}, {bf16, precision::bf16}})
        for (const auto dst : {s8, f8_e4m3})
            for (const std::int64_t step : {1, 2}) {
                auto q = statement_of(quantize, type, dst, {3, 1100}, {3, 1});
                q.src.strides = {1100 * step, step};
                q.scales.type = type;
                q.rule = numerics::onnx;
                q.division = division;
                random_source random(2);
                EXPECT_TRUE(fits_on_every_kernel(random_sample(random, q, parameters::tame)));
            }
}

TEST(stack_of, dynamic_quantize_linear) {
    const auto op = onnx::prepare({.op_type = "DynamicQuantizeLinear", .opset = 11, .inputs = {{1, {5000}}}});
    std::vector<float> x(5000, 1);
    x[7] = 255; // scale 1, zero point 0
    std::vector<std::uint8_t> y(5000), expected(5000, 1);
    expected[7] = 255;
    float scale = 0;
    std::uint8_t zero_point = 9;
    EXPECT_TRUE(fits([&] { op.run({x.data(), nullptr, nullptr, y.data(), &scale, &zero_point}); }));
    EXPECT_EQ(y, expected);
}

#if DYNQUANT_TEST_ONEDNN
TEST(stack_of, ops_of_a_graph) {
    for (const auto &v : all_variants()) {
        single_op op {.kind = dg::op::kind::DynamicQuantize, .shape = {40, 64}, .scales = std::vector<float>(64, 2)};
        op.qtype = "per_channel";
        op.axis = 1;
        if (v.kernel == kernel_kind::onednn) op.fpmath = dg::fpmath_mode::any;
        const auto compiled = op.compile(v);
        std::vector<float> src(40 * 64, 5), scales = op.scales;
        std::vector<std::int8_t> dst(40 * 64);
        const auto inputs = op.inputs();
        dg::stream stream(cpu());
        EXPECT_TRUE(fits([&] {
            compiled.execute(stream, {{inputs[0], cpu(), src.data()}, {inputs[1], cpu(), scales.data()}},
                    {{op.output(), cpu(), dst.data()}});
        })) << v;
        EXPECT_EQ(dst, std::vector<std::int8_t>(40 * 64, 2)) << v; // 2.5, a tie
    }
}
#endif

} // namespace
} // namespace dynquant::test

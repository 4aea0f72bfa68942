// Where an allocation fails, prepare() and the nodes of ONNX throw and leave nothing behind.
#include "support/failing_allocations.hpp"
#include "support/direct.hpp"
#include "support/onnx.hpp"

namespace dynquant::test {
namespace {

using enum data_type;

TEST(failing_allocations, of_prepared_statements) {
    for (const auto &block : {dims {8, 64}, dims {1, 64}, dims {1, 32}, dims {8, 1}})
        for (const auto &[reals, codes] : {std::pair {f32, s8}, {bf16, u4}, {f16, f8_e4m3}})
            for (const auto dir : {direction::quantize, direction::dequantize})
                for (const auto &v : universal_variants()) {
                    auto q = statement_of(dir, reals, codes, {8, 64}, block);
                    q.rule = numerics::onnx;
                    SCOPED_TRACE(describe(q) + " by " + v.name());
                    EXPECT_GT(failed_allocations([&] { prepare(q, v.forced()); }), 0);
                }
}

TEST(failing_allocations, of_computed_scales) {
    for (const auto &block : {dims {8, 64}, dims {1, 64}, dims {1, 32}}) {
        auto q = statement_of(direction::quantize, f32, s8, {8, 64}, block);
        q.rule = numerics::onnx;
        q.computed = scale_rule {};
        EXPECT_GT(failed_allocations([&] { prepare(q); }), 0);
    }
}

TEST(failing_allocations, of_onnx_nodes) {
    using namespace tensor_proto;
    const auto blocked = quantize_linear(
            21, {{float32, {4, 6}}, {float32, {4, 3}}, {uint8, {4, 3}}}, {{"block_size", 2}, {"axis", 1}});
    const auto channels = dequantize_linear(19, {{uint8, {2, 5}}, {float16, {5}}, {uint8, {5}}}, {{"axis", 1}});
    const auto computed = dynamic_quantize_linear({float32, {8, 64}}, {text_attribute("rule", "minmax")});
    for (const auto &n : {blocked, channels, computed})
        EXPECT_GT(failed_allocations([&] { onnx::prepare(n); }), 0) << n.op_type;
}

/// A refusal needs memory for its message.
TEST(failing_allocations, of_refusals) {
    auto q = statement_of(direction::quantize, f32, s8, {8, 64}, {1, 64});
    q.scales.type = s4;
    const auto is_refusal = [](const error &e) {
        return e.status == status::out_of_memory || e.status == status::invalid_data_type;
    };
    const auto try_it = [&] {
        try {
            prepare(q);
        } catch (const error &e) {
            if (e.status != status::invalid_data_type) throw;
        }
    };
    EXPECT_GT(failed_allocations<error>(try_it, is_refusal), 0);
}

} // namespace
} // namespace dynquant::test

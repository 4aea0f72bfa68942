// Wrong calls of execute are refused before anything is written.
#include "support/graph.hpp"

namespace dynquant::test {
namespace {

const std::string q = "op 3 'q' (DynamicQuantize): ";

class execute_refuses : public testing::Test {
  protected:
    testing::AssertionResult refuses(
            const std::vector<dg::tensor> &inputs, const std::vector<dg::tensor> &outputs, const std::string &message) {
        auto refused = fails([&] { compiled_.execute(stream_, inputs, outputs); }, dnnl_invalid_arguments, message);
        if (dst_ != std::vector<std::uint8_t>(8, 77)) return testing::AssertionFailure() << "dst was written";
        return refused;
    }

    dg::tensor null(const lt &description) const { return {description, cpu(), nullptr}; }

    dynamic_op op_;
    dg::compiled_partition compiled_ = partition_of(op_.make()).compile(op_.inputs(), {op_.dst}, cpu());
    dg::stream stream_ {cpu()};
    std::vector<float> src_ {1, 2, 3, 4, 5, 6, 7, 8}, scales_ {1, 1, 1, 1};
    std::vector<std::int8_t> zps_ {0, 0, 0, 0};
    std::vector<std::uint8_t> dst_ = std::vector<std::uint8_t>(8, 77);
    dg::tensor src = tensor_of(op_.src, src_), scales = tensor_of(op_.scales, scales_), zps = tensor_of(*op_.zps, zps_),
               dst = tensor_of(op_.dst, dst_);
};

TEST_F(execute_refuses, too_few_inputs) {
    EXPECT_TRUE(refuses({src, scales}, {dst}, q + "inputs: expected 3 tensors, as compile was given, given 2"));
    EXPECT_TRUE(refuses({}, {dst}, q + "inputs: expected 3 tensors, as compile was given, given 0"));
}

TEST_F(execute_refuses, too_many_inputs) {
    EXPECT_TRUE(
            refuses({src, scales, zps, zps}, {dst}, q + "inputs: expected 3 tensors, as compile was given, given 4"));
}

TEST_F(execute_refuses, a_wrong_number_of_outputs) {
    EXPECT_TRUE(refuses({src, scales, zps}, {}, q + "outputs: expected 1 tensor, as compile was given, given 0"));
    EXPECT_TRUE(
            refuses({src, scales, zps}, {dst, dst}, q + "outputs: expected 1 tensor, as compile was given, given 2"));
}

TEST_F(execute_refuses, null_handles) {
    EXPECT_TRUE(refuses({null(op_.src), scales, zps}, {dst}, q + "src: expected a buffer, given a null pointer"));
    EXPECT_TRUE(refuses({src, null(op_.scales), zps}, {dst}, q + "scales: expected a buffer, given a null pointer"));
    EXPECT_TRUE(refuses({src, scales, null(*op_.zps)}, {dst}, q + "zps: expected a buffer, given a null pointer"));
    EXPECT_TRUE(refuses({src, scales, zps}, {null(op_.dst)}, q + "dst: expected a buffer, given a null pointer"));
}

TEST_F(execute_refuses, empty_tensors) {
    EXPECT_TRUE(refuses({dg::tensor(), scales, zps}, {dst}, q + "src: expected a buffer, given a null pointer"));
    EXPECT_TRUE(refuses({src, scales, zps}, {dg::tensor()}, q + "dst: expected a buffer, given a null pointer"));
}

TEST_F(execute_refuses, an_empty_stream) {
    dg::stream none;
    EXPECT_TRUE(fails(
            [&] {
                compiled_.execute(none, {src, scales, zps}, {dst});
            },
            dnnl_invalid_arguments, "object is not initialized"));
}

TEST_F(execute_refuses, and_computes_the_next_right_call) {
    EXPECT_TRUE(refuses({src, scales}, {dst}, q + "inputs: expected 3 tensors, as compile was given, given 2"));
    compiled_.execute(stream_, {src, scales, zps}, {dst});
    EXPECT_EQ(dst_, (std::vector<std::uint8_t> {1, 2, 3, 4, 5, 6, 7, 8}));
}

TEST(execute_zero_volume, takes_null_handles) {
    const dynamic_op op {.src = f32(0, {0, 4}), .dst = u8(3, {0, 4})};
    const auto compiled = partition_of(op.make()).compile(op.inputs(), {op.dst}, cpu());
    dg::stream stream(cpu());
    const auto null = [](const lt &t) { return dg::tensor(t, cpu(), nullptr); };
    EXPECT_NO_THROW(compiled.execute(stream, {null(op.src), null(op.scales), null(*op.zps)}, {null(op.dst)}));
    EXPECT_NO_THROW(compiled.execute(stream, std::vector<dg::tensor>(3), std::vector<dg::tensor>(1)));
}

TEST(execute_zero_volume, checks_the_number_of_tensors) {
    const dynamic_op op {.src = f32(0, {0, 4}), .dst = u8(3, {0, 4})};
    const auto compiled = partition_of(op.make()).compile(op.inputs(), {op.dst}, cpu());
    dg::stream stream(cpu());
    EXPECT_TRUE(fails([&] { compiled.execute(stream, {}, std::vector<dg::tensor>(1)); }, dnnl_invalid_arguments,
            q + "inputs: expected 3 tensors, as compile was given, given 0"));
}

} // namespace
} // namespace dynquant::test

// run allocates nothing on native and reference, whatever the statement. This is a separate program, because
// counting_new.cpp replaces operator new.
#include "support/counting_new.hpp"
#include "support/random.hpp"

namespace dynquant::test {
namespace {

/// The number of allocations in three runs. Buffers of a thread may grow in the run before.
long allocations_of(const operation &op, const arguments &args) {
    op.run(args);
    const long before = allocations();
    for (int i = 0; i < 3; ++i)
        op.run(args);
    return allocations() - before;
}

testing::AssertionResult allocates_nothing(const sample &s) {
    const guarded_sample guarded(s);
    for (const auto &v : variants_for(s)) {
        if (v.kernel == kernel_kind::onednn) continue;
        if (const auto count = allocations_of(prepare(s.q, v.forced()), guarded.arguments_of_run()); count != 0)
            return testing::AssertionFailure() << describe(s.q) << ": " << count << " allocations by " << v;
    }
    return testing::AssertionSuccess();
}

constexpr std::uint64_t statements = 40;

template <typename Draw>
void expect_none_in(std::uint64_t stream, Draw draw) {
    for (std::uint64_t i = 0; i < statements; ++i) {
        random_source random(stream << 20 | i);
        ASSERT_TRUE(allocates_nothing(draw(random))) << "statement " << i << " of seed " << seed();
    }
}

TEST(kernel_no_allocation, in_statements_of_onednn) {
    expect_none_in(1, random_statement);
}

class kernel_no_allocation_in : public testing::TestWithParam<data_type> {};

TEST_P(kernel_no_allocation_in, statements_of_onnx) {
    const auto types = onnx_types_with(GetParam());
    expect_none_in(2, [&](random_source &random) { return random_onnx_statement(random, random.one_of(types)); });
}

TEST_P(kernel_no_allocation_in, computed_scales) {
    expect_none_in(3, [](random_source &random) { return random_computed_statement(random, GetParam()); });
}

INSTANTIATE_TEST_SUITE_P(types, kernel_no_allocation_in,
        testing::Values(data_type::s8, data_type::u8, data_type::s4, data_type::f8_e5m2, data_type::f6_e3m2),
        [](const auto &value) { return std::string(to_string(value.param)); });

} // namespace
} // namespace dynquant::test

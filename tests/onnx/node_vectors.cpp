// Each of ONNX's node tests of dynquant's operators passes, on every kernel and instruction set. The folders come from
// ONNX's wheels: one folder for each operator and version.
#include <algorithm>
#include <cmath>
#include <cstring>
#include <map>
#include <memory>
#include <regex>

#include <gtest/gtest.h>

#include "node_test.hpp"
#include "support/elements.hpp"
#include "support/guarded_buffer.hpp"
#include "support/variants.hpp"

namespace dynquant::test {
namespace {

namespace fs = std::filesystem;

struct vector_test {
    fs::path folder;
    variant by;
};

std::ostream &operator<<(std::ostream &out, const vector_test &t) {
    return out << t.folder.filename().string() << " on " << t.by;
}

std::vector<fs::path> folders() {
    std::vector<fs::path> found;
    for (const char *op : {"DequantizeLinear", "DynamicQuantizeLinear", "QuantizeLinear"})
        for (const auto &version : fs::directory_iterator(fs::path(ONNX_VECTORS) / op))
            for (const auto &test : fs::directory_iterator(version))
                found.push_back(test);
    std::ranges::sort(found);
    return found;
}

std::vector<vector_test> every_test() {
    std::vector<vector_test> tests;
    for (const auto &folder : folders())
        for (const auto &by : universal_variants())
            tests.push_back({folder, by});
    return tests;
}

std::string name_of(const vector_test &t) {
    // .deps/onnx/vectors/QuantizeLinear/1.21.0/test_quantizelinear_axis
    const auto name = t.folder.parent_path().filename().string() + "_" + t.folder.filename().string();
    return std::regex_replace(name + "_" + t.by.name(), std::regex("[^A-Za-z0-9]"), "_");
}

/// Whether bytes are equal. In a float type any NaN equals any NaN.
testing::AssertionResult equal(const tensor_file &expected, const guarded_buffer &given) {
    if (!given.intact()) return testing::AssertionFailure() << "bytes beside the output were written";
    const auto type = *onnx::data_type_of(expected.what.type);
    const auto count = static_cast<std::int64_t>(expected.data.size()) * 8 / bits_in(type);
    for (std::int64_t i = 0; i < count; ++i) {
        const auto wanted = get_bits(type, expected.data.data(), i), found = get_bits(type, given.data(), i);
        if (wanted == found) continue;
        if (!is_integer(type) && std::isnan(real_from(type, wanted)) && std::isnan(real_from(type, found))) continue;
        return testing::AssertionFailure() << "element " << i << ": expected bits " << wanted << ", given " << found;
    }
    return testing::AssertionSuccess();
}

class onnx_node : public testing::TestWithParam<vector_test> {};

TEST_P(onnx_node, gives_the_outputs) {
    const auto &folder = GetParam().folder;
    const auto test = read_node_test(folder);
    const auto outputs = read_tensors(folder, "output");
    ASSERT_EQ(outputs.size(), test.graph_outputs.size());

    const auto op = onnx::prepare(test.node, GetParam().by.forced());
    ASSERT_EQ(op.outputs().size(), outputs.size());
    auto args = test.arguments();
    std::vector<std::unique_ptr<guarded_buffer>> given;
    for (std::size_t i = 0; i < outputs.size(); ++i) {
        EXPECT_EQ(op.outputs()[i].type, outputs[i].what.type);
        EXPECT_EQ(op.outputs()[i].shape, outputs[i].what.shape);
        EXPECT_EQ(test.graph_outputs[i], outputs[i].what.type);
        given.push_back(std::make_unique<guarded_buffer>(outputs[i].data.size(), guarded_buffer::place::at_back));
    }
    args.y = given[0]->data();
    std::memset(args.y, 0, given[0]->size()); // a run preserves the unused bits of the last byte
    if (given.size() > 1) args.y_scale = given[1]->data();
    if (given.size() > 2) args.y_zero_point = given[2]->data();
    op.run(args);
    for (std::size_t i = 0; i < outputs.size(); ++i)
        EXPECT_TRUE(equal(outputs[i], *given[i])) << "output " << i;
}

TEST(onnx_node_tests, are_all_there) {
    std::map<std::string, int> counts;
    for (const auto &folder : folders())
        ++counts[folder.parent_path().filename().string()];
    const std::map<std::string, int> expected = {
            {"1.5.0", 2}, {"1.7.0", 5}, {"1.13.1", 7}, {"1.14.1", 11}, {"1.16.2", 24}, {"1.19.1", 26}, {"1.21.0", 30}};
    EXPECT_EQ(counts, expected);
}

INSTANTIATE_TEST_SUITE_P(
        wheel, onnx_node, testing::ValuesIn(every_test()), [](const auto &tested) { return name_of(tested.param); });

} // namespace
} // namespace dynquant::test

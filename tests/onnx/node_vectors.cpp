// Each of ONNX's node tests gives ONNX's outputs: as a node, on every kernel and instruction set, if it quantizes or
// dequantizes; as a model of one node, or is refused for a reason that is listed here. The folders come from ONNX's
// wheels: one folder for each operator and version.
#include <algorithm>
#include <cmath>
#include <cstring>
#include <deque>
#include <map>
#include <ostream>
#include <regex>
#include <set>

#include <gtest/gtest.h>

#include "dynquant/model.hpp"
#include "node_test.hpp"
#include "onnx.pb.h"
#include "oracle/elements.hpp"
#include "support/fails.hpp"
#include "support/guarded_buffer.hpp"
#include "support/variants.hpp"

namespace dynquant::test {
namespace {

namespace fs = std::filesystem;
namespace proto = ::onnx;

std::string name_of(const fs::path &folder) {
    // .deps/onnx/vectors/QuantizeLinear/1.21.0/test_quantizelinear_axis
    return folder.parent_path().filename().string() + "/" + folder.filename().string();
}

/// The folders of node tests, by operator.
const std::map<std::string, std::vector<fs::path>> &folders() {
    static const auto found = [] {
        std::map<std::string, std::vector<fs::path>> result;
        for (const auto &op : fs::directory_iterator(ONNX_VECTORS)) {
            auto &tests = result[op.path().filename().string()];
            for (const auto &version : fs::directory_iterator(op))
                tests.insert(tests.end(), fs::directory_iterator(version), {});
            std::ranges::sort(tests);
        }
        return result;
    }();
    return found;
}

struct tolerance {
    double absolute = 0, relative = 0;
};

/// Whether bits are equal. In a float type any NaN equals any NaN, and numbers may differ by the tolerance, if any.
testing::AssertionResult equal(
        const tensor_file &expected, const guarded_buffer &given, const tolerance &allowed = {}) {
    if (!given.intact()) return testing::AssertionFailure() << "bytes beside the output were written";
    const auto type = *onnx::data_type_of(expected.what.type);
    const auto number = [&](std::uint32_t bits) {
        return is_integer(type) ? static_cast<double>(integer_from(type, bits)) : double {real_from(type, bits)};
    };
    const auto count = static_cast<std::int64_t>(expected.data.size()) * 8 / bits_in(type);
    for (std::int64_t i = 0; i < count; ++i) {
        const auto wanted = get_bits(type, expected.data.data(), i), found = get_bits(type, given.data(), i);
        const auto x = number(wanted), y = number(found), most = allowed.absolute + allowed.relative * std::abs(x);
        if (wanted == found || (std::isnan(x) && std::isnan(y)) || (most > 0 && std::abs(y - x) <= most)) continue;
        return testing::AssertionFailure()
                << "element " << i << ": expected " << x << ", given " << y << "; bits " << wanted << " and " << found;
    }
    return testing::AssertionSuccess();
}

// ---- Nodes ----

struct vector_test {
    fs::path folder;
    variant by;
};

std::ostream &operator<<(std::ostream &out, const vector_test &t) {
    return out << t.folder.filename().string() << " on " << t.by;
}

constexpr const char *quantizing[] = {"DequantizeLinear", "DynamicQuantizeLinear", "QuantizeLinear"};

std::vector<vector_test> every_test() {
    std::vector<vector_test> tests;
    for (const char *op : quantizing)
        for (const auto &folder : folders().at(op))
            for (const auto &by : universal_variants())
                tests.push_back({folder, by});
    return tests;
}

std::string name_of(const vector_test &t) {
    return std::regex_replace(name_of(t.folder) + "_" + t.by.name(), std::regex("[^A-Za-z0-9]"), "_");
}

class onnx_node : public testing::TestWithParam<vector_test> {};

TEST_P(onnx_node, gives_the_outputs) {
    const auto &folder = GetParam().folder;
    const auto test = read_node_test(folder);
    const auto outputs = read_tensors(folder, "output");
    ASSERT_EQ(outputs.size(), test.graph_outputs.size());

    const auto op = onnx::prepare(test.node, GetParam().by.forced());
    ASSERT_EQ(op.outputs().size(), outputs.size());
    std::deque<guarded_buffer> given;
    std::vector<std::byte *> pointers;
    for (std::size_t i = 0; i < outputs.size(); ++i) {
        EXPECT_EQ(op.outputs()[i].type, outputs[i].what.type);
        EXPECT_EQ(op.outputs()[i].shape, outputs[i].what.shape);
        EXPECT_EQ(test.graph_outputs[i], outputs[i].what.type);
        given.emplace_back(outputs[i].data.size(), guarded_buffer::place::at_back);
        pointers.push_back(given.back().data());
    }
    std::memset(pointers[0], 0, given[0].size()); // a run preserves the unused bits of the last byte
    op.run(test.arguments(pointers));
    for (std::size_t i = 0; i < outputs.size(); ++i)
        EXPECT_TRUE(equal(outputs[i], given[i])) << "output " << i;
}

TEST(onnx_node_tests, are_all_there) {
    std::map<std::string, int> counts;
    for (const char *op : quantizing)
        for (const auto &folder : folders().at(op))
            ++counts[folder.parent_path().filename().string()];
    const std::map<std::string, int> expected = {
            {"1.5.0", 2}, {"1.7.0", 5}, {"1.13.1", 7}, {"1.14.1", 11}, {"1.16.2", 24}, {"1.19.1", 26}, {"1.21.0", 30}};
    EXPECT_EQ(counts, expected);
}

INSTANTIATE_TEST_SUITE_P(
        wheel, onnx_node, testing::ValuesIn(every_test()), [](const auto &tested) { return name_of(tested.param); });

// ---- Refused models: operators, versions, types and outputs ----

struct refusal {
    const char *tests; // version/name
    dynquant::status status;
    const char *message; // a part of it
};

constexpr refusal refusals[] = {
        {"1\\.[57]\\.0/.*", status::unimplemented, "opset: expected 10 to 28, given 9"},
        {".*/test_add_(u?int16|uint32|uint64)", status::invalid_data_type,
                "(Add): A 'x': expected type float, uint8, int8, int32 or float16, what dynquant computes at opset 14, "
                "given "},
        {".*/test_mul_(u?int16|uint32|uint64)", status::invalid_data_type,
                "(Mul): A 'x': expected type float, uint8, int8, int32 or float16, what dynquant computes at opset 14, "
                "given "},
        {".*/test_cast(like)?_STRING_to_FLOAT(_expanded)?", status::invalid_data_type,
                "input 'input': expected numbers, given elements of type string"},
        {".*/test_castlike_FLOAT_to_STRING_expanded", status::invalid_data_type,
                "input 'like': expected numbers, given elements of type string"},
        {".*/test_cast.*_(BFLOAT16|DOUBLE|FLOAT4.*|FLOAT8.*|U?INT[24])_to_(FLOAT|FLOAT16|U?INT8)(_expanded)?",
                status::invalid_data_type,
                "(Cast): input 'input': expected type float, uint8, int8, int32 or float16, what dynquant computes at "
                "opset "},
        {".*/test_cast.*_FLOAT(16)?_to_(BFLOAT16|DOUBLE|STRING|FLOAT4.*|FLOAT8.*|U?INT[24])(_expanded)?",
                status::unimplemented, "(Cast): attribute 'to': expected a cast of any of these types to float, "},
        {".*/test_.*convinteger.*", status::invalid_data_type,
                "(ConvInteger): w 'w': expected type int8, what dynquant computes at opset 10, given uint8"},
        {".*/test_matmulinteger", status::invalid_data_type,
                "(MatMulInteger): B 'B': expected type int8, what dynquant computes at opset 10, given uint8"},
        {".*/test_dynamicquantizelinear.*", status::unimplemented, "Transpose, given DynamicQuantizeLinear"},
        {".*/test_identity_(opt|sequence)", status::unimplemented, ": expected a tensor, given another type"},
        {".*/test_maxpool_with_argmax.*", status::unimplemented, "(MaxPool): outputs: expected one, given 2"},
};

/// The listed refusal that matches, or null.
const refusal *find_refusal(const std::string &name, const error &e) {
    const auto found = std::ranges::find_if(refusals, [&](const refusal &r) {
        return std::regex_match(name, std::regex(r.tests)) && e.status == r.status
                && std::strstr(e.what(), r.message) != nullptr;
    });
    return found == std::end(refusals) ? nullptr : &*found;
}

/// The number of an operator's tests that give ONNX's outputs, and of those that are refused. All tests of
/// MatMulInteger and ConvInteger have weights of uint8; see below.
struct counts {
    int taken = 0, refused = 0;
    bool operator==(const counts &) const = default;
};

std::ostream &operator<<(std::ostream &out, const counts &c) {
    return out << c.taken << " taken, " << c.refused << " refused";
}

const std::map<std::string, counts> expected_counts = {
        {"Add", {17, 12}},
        {"Cast", {24, 338}},
        {"Constant", {5, 2}},
        {"Conv", {30, 10}},
        {"ConvInteger", {0, 14}},
        {"DequantizeLinear", {45, 0}},
        {"DynamicQuantizeLinear", {0, 18}},
        {"Flatten", {49, 10}},
        {"Gemm", {66, 2}},
        {"Identity", {15, 12}},
        {"MatMul", {19, 6}},
        {"MatMulInteger", {0, 7}},
        {"MaxPool", {82, 34}},
        {"Mul", {22, 14}},
        {"QuantizeLinear", {42, 0}},
        {"Relu", {5, 2}},
        {"Reshape", {59, 5}},
        {"Sigmoid", {10, 4}},
        {"Tanh", {10, 4}},
        {"Transpose", {35, 14}},
};

// ---- Models of one node ----

/// A numeric attribute of a node, or `otherwise` if it is absent.
float attribute_of(const proto::NodeProto &n, const std::string &name, float otherwise) {
    for (const auto &a : n.attribute())
        if (a.name() == name) return a.type() == proto::AttributeProto::INT ? static_cast<float>(a.i()) : a.f();
    return otherwise;
}

double largest_magnitude(const tensor_file &t) {
    double largest = 0;
    for (const auto value : decode_reals(data_type::f32, t.data))
        largest = std::max(largest, std::abs(double {value}));
    return largest;
}

/// The largest allowed difference from ONNX's result, which numpy computes in float.
///
/// Products: ONNX's sum of k terms, in any order, rounds each of them up to k times, and by alpha, beta and the
/// addition of C thrice more; the runner's rounds once. Each time by 2^-24 of the terms' magnitudes at most. Tanh and
/// Sigmoid: the runner's is within one unit in the last place, 2^-23 of the value at most, and numpy's tanh and exp are
/// within 4; Sigmoid's addition and division round by a half of one each.
tolerance allowed_difference(const proto::NodeProto &n, const std::vector<tensor_file> &inputs) {
    const auto &op = n.op_type();
    if (op == "Tanh" || op == "Sigmoid") return {0, std::ldexp(6, -23)};
    if (op != "MatMul" && op != "Gemm") return {};
    const auto &a = inputs[0].what.shape;
    const auto k = static_cast<double>(attribute_of(n, "transA", 0) != 0 ? a.front() : a.back());
    auto terms =
            k * largest_magnitude(inputs[0]) * largest_magnitude(inputs[1]) * std::abs(attribute_of(n, "alpha", 1));
    if (inputs.size() > 2) terms += largest_magnitude(inputs[2]) * std::abs(attribute_of(n, "beta", 1));
    return {std::ldexp((k + 4) * terms, -24)};
}

/// Whether shapes or preparation depend on this input.
bool must_be_constant(const std::string &op, int input) {
    if (op == "Reshape") return input == 1;
    return (op == "MatMulInteger" || op == "ConvInteger") && input > 0;
}

/// The folder's model, where inputs that must be constant are initializers.
proto::ModelProto model_in(const fs::path &folder) {
    auto m = read_message<proto::ModelProto>(folder / "model.onnx");
    auto &g = *m.mutable_graph();
    if (g.node_size() != 1) throw file_error(name_of(folder) + ": expected a model of one node");
    const auto &n = g.node(0);
    for (int i = 0; i < g.input_size(); ++i)
        for (int at = 0; at < n.input_size(); ++at)
            if (n.input(at) == g.input(i).name() && must_be_constant(n.op_type(), at)) {
                auto &constant = *g.add_initializer();
                constant = read_message<proto::TensorProto>(tensor_path(folder, "input", static_cast<std::size_t>(i)));
                constant.set_name(n.input(at));
            }
    return m;
}

/// Runs the model with the folder's inputs and compares the output. Throws `error` if the model is refused.
void run(const proto::ModelProto &m, const fs::path &folder) {
    const auto loaded = model::parse(m.SerializeAsString(), name_of(folder));
    const auto &g = m.graph();
    std::vector<tensor_file> inputs;
    std::deque<guarded_buffer> buffers;
    std::vector<const void *> pointers;
    for (const auto &port : loaded.inputs()) {
        const auto at = std::ranges::find(g.input(), port.name, &proto::ValueInfoProto::name) - g.input().begin();
        inputs.push_back(read_tensor(tensor_path(folder, "input", static_cast<std::size_t>(at))));
        const auto &[what, data] = inputs.back();
        EXPECT_EQ(port.type, what.type);
        EXPECT_EQ(port.shape, what.shape);
        buffers.emplace_back(data.size(), guarded_buffer::place::at_back).fill(data);
        pointers.push_back(buffers.back().data());
    }

    const auto expected = read_tensors(folder, "output");
    ASSERT_EQ(expected.size(), 1U);
    ASSERT_EQ(loaded.outputs().size(), 1U);
    EXPECT_EQ(loaded.outputs()[0].type, expected[0].what.type);
    EXPECT_EQ(loaded.outputs()[0].shape, expected[0].what.shape);
    const guarded_buffer y(expected[0].data.size(), guarded_buffer::place::at_back);
    std::memset(y.data(), 0, y.size()); // a run preserves the unused bits of the last byte
    loaded.run(pointers, {y.data()});
    EXPECT_TRUE(equal(expected[0], y, allowed_difference(g.node(0), inputs)));
}

TEST(onnx_model_of_a_node, gives_the_outputs_or_is_refused) {
    std::map<std::string, counts> given;
    std::set<const refusal *> met;
    for (const auto &[op, tests] : folders())
        for (const auto &folder : tests) {
            const auto name = name_of(folder);
            SCOPED_TRACE(name);
            try {
                run(model_in(folder), folder);
                ++given[op].taken;
            } catch (const error &e) {
                const auto *listed = find_refusal(name, e);
                EXPECT_NE(listed, nullptr) << to_string(e.status) << ": " << e.what();
                met.insert(listed);
                ++given[op].refused;
            }
        }
    EXPECT_EQ(given, expected_counts);
    for (const auto &r : refusals)
        EXPECT_TRUE(met.contains(&r)) << r.tests << " is listed, and no such test is refused like that";
}

/// The list of operators in a refusal is the runner's list.
TEST(onnx_model_of_a_node, is_there_for_every_operator) {
    std::string names;
    std::vector<std::string> operators;
    for (const auto &[op, count] : expected_counts)
        if (op != "Constant" && op != "DynamicQuantizeLinear") operators.push_back(op);
    for (const auto &op : operators)
        names += (names.empty() ? "" : op == operators.back() ? " or " : ", ") + op;
    auto m = model_in(folders().at("Relu").front());
    auto &n = *m.mutable_graph()->mutable_node(0);
    n.set_op_type("Unknown");
    n.set_name("n");
    EXPECT_TRUE(fails([&] { model::parse(m.SerializeAsString(), "m.onnx"); }, status::unimplemented,
            "m.onnx: operators: expected " + names + ", given Unknown of node 'n'"));
}

// ---- Integer products ----

/// Makes int8 of uint8 by inverting the highest bit, which subtracts 128. Done to w and its zero point it does not
/// change their difference.
void make_signed(proto::GraphProto &g, const std::string &initializer) {
    auto &tensors = *g.mutable_initializer();
    const auto t = std::ranges::find(tensors, initializer, &proto::TensorProto::name);
    ASSERT_NE(t, tensors.end());
    ASSERT_EQ(t->data_type(), proto::TensorProto::UINT8);
    ASSERT_TRUE(t->has_raw_data());
    t->set_data_type(proto::TensorProto::INT8);
    for (auto &byte : *t->mutable_raw_data())
        byte = static_cast<char>(byte ^ '\x80');
}

TEST(onnx_model_of_a_node, multiplies_integers_by_weights_as_int8) {
    constexpr int w = 1, w_zero_point = 3;
    int count = 0;
    for (const char *op : {"MatMulInteger", "ConvInteger"})
        for (const auto &folder : folders().at(op)) {
            SCOPED_TRACE(name_of(folder));
            auto m = model_in(folder);
            auto &g = *m.mutable_graph();
            auto &n = *g.mutable_node(0);
            make_signed(g, n.input(w));
            if (n.input_size() <= w_zero_point) { // 0
                while (n.input_size() < w_zero_point)
                    n.add_input("");
                n.add_input("w_zero_point");
                auto &zero = *g.add_initializer();
                zero.set_name("w_zero_point");
                zero.set_data_type(proto::TensorProto::UINT8);
                zero.set_raw_data(std::string(1, '\0'));
            }
            make_signed(g, n.input(w_zero_point));
            run(m, folder);
            ++count;
        }
    EXPECT_EQ(count, 7 + 14);
}

} // namespace
} // namespace dynquant::test

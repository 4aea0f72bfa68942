// Each of ONNX's node tests gives ONNX's outputs, or is refused for a reason that is listed here. The folders come from
// ONNX's wheels: one folder for each operator and version.
#include <algorithm>
#include <cmath>
#include <cstring>
#include <filesystem>
#include <map>
#include <memory>
#include <ostream>
#include <regex>
#include <set>

#include <gtest/gtest.h>

#include "model_file.pb.h"
#include "model_support.hpp"
#include "onnx/element_type.hpp"
#include "support/elements.hpp"
#include "support/guarded_buffer.hpp"

namespace dynquant::models {
namespace {

namespace fs = std::filesystem;
namespace file = model_file;
namespace type = onnx::type;
using test::guarded_buffer;

// ---- The folders ----

std::string name_of(const fs::path &folder) {
    // .deps/onnx/vectors/Relu/1.21.0/test_relu
    return folder.parent_path().filename().string() + "/" + folder.filename().string();
}

file::Model model_in(const fs::path &folder) {
    file::Model m;
    if (!m.ParseFromString(bytes_of_file((folder / "model.onnx").string())) || m.graph().node_size() != 1)
        throw std::runtime_error(name_of(folder) + ": expected a model of one node");
    return m;
}

fs::path tensor_path(const fs::path &folder, const char *kind, int number) {
    return folder / "test_data_set_0" / (kind + ("_" + std::to_string(number)) + ".pb");
}

file::Tensor tensor_message(const fs::path &path) {
    file::Tensor t;
    if (!t.ParseFromString(bytes_of_file(path.string())))
        throw std::runtime_error(path.string() + ": expected a tensor");
    return t;
}

/// Reads the tensor as a model reads an initializer.
tensor tensor_in(const fs::path &path) {
    file::Model m;
    m.add_opset_import()->set_version(1);
    *m.mutable_graph()->add_initializer() = tensor_message(path);
    return read(m.SerializeAsString()).initializers.begin()->second;
}

/// The folders of node tests, by operator.
const std::map<std::string, std::vector<fs::path>> &folders() {
    static const auto found = [] {
        std::map<std::string, std::vector<fs::path>> result;
        for (const auto &op : fs::directory_iterator(ONNX_VECTORS))
            for (const auto &version : fs::directory_iterator(op))
                for (const auto &folder : fs::directory_iterator(version))
                    result[op.path().filename().string()].push_back(folder);
        return result;
    }();
    return found;
}

// ---- Refused operators, versions, types and outputs ----

struct refusal {
    const char *tests; // version/name
    dnnl_status_t status;
    const char *message; // a part of it
};

constexpr refusal refusals[] = {
        {"1\\.[57]\\.0/.*", dnnl_unimplemented, "opset: expected 10 to 28, given 9"},
        {".*/test_add_(u?int16|uint32|uint64)", dnnl_invalid_data_type,
                "(Add): A 'x': expected type float, uint8, int8, int32 or float16, what dynquant computes at opset 14, "
                "given "},
        {".*/test_mul_(u?int16|uint32|uint64)", dnnl_invalid_data_type,
                "(Mul): A 'x': expected type float, uint8, int8, int32 or float16, what dynquant computes at opset 14, "
                "given "},
        {".*/test_cast(like)?_STRING_to_FLOAT(_expanded)?", dnnl_invalid_data_type,
                "input 'input': expected numbers, given elements of type string"},
        {".*/test_castlike_FLOAT_to_STRING_expanded", dnnl_invalid_data_type,
                "input 'like': expected numbers, given elements of type string"},
        {".*/test_cast.*_(BFLOAT16|DOUBLE|FLOAT4.*|FLOAT8.*|U?INT[24])_to_(FLOAT|FLOAT16|U?INT8)(_expanded)?",
                dnnl_invalid_data_type,
                "(Cast): input 'input': expected type float, uint8, int8, int32 or float16, what dynquant computes at "
                "opset "},
        {".*/test_cast.*_FLOAT(16)?_to_(BFLOAT16|DOUBLE|STRING|FLOAT4.*|FLOAT8.*|U?INT[24])(_expanded)?",
                dnnl_unimplemented, "(Cast): attribute 'to': expected a cast of any of these types to float, "},
        {".*/test_.*convinteger.*", dnnl_invalid_data_type,
                "(ConvInteger): w 'w': expected type int8, what dynquant computes at opset 10, given uint8"},
        {".*/test_matmulinteger", dnnl_invalid_data_type,
                "(MatMulInteger): B 'B': expected type int8, what dynquant computes at opset 10, given uint8"},
        {".*/test_dynamicquantizelinear.*", dnnl_unimplemented, "Transpose, given DynamicQuantizeLinear"},
        {".*/test_identity_(opt|sequence)", dnnl_unimplemented, ": expected a tensor, given another type"},
        {".*/test_maxpool_with_argmax.*", dnnl_unimplemented, "(MaxPool): outputs: expected one, given 2"},
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

// ---- Outputs ----

/// A numeric attribute of a node, or `otherwise` if it is absent.
float attribute_of(const file::Node &n, const std::string &name, float otherwise) {
    for (const auto &a : n.attribute())
        if (a.name() == name) return a.type() == 2 ? static_cast<float>(a.i()) : a.f(); // 2: INT
    return otherwise;
}

double largest_magnitude(const tensor &t) {
    double largest = 0;
    for (const auto value : test::decode_reals(data_type::f32, t.data))
        largest = std::max(largest, std::abs(double {value}));
    return largest;
}

/// The largest allowed difference from ONNX's result, which numpy computes in float.
///
/// Products: ONNX's sum of k terms, in any order, rounds each of them up to k times, and by alpha, beta and the
/// addition of C thrice more; the runner's rounds once. Each time by 2^-24 of the terms' magnitudes at most. Tanh and
/// Sigmoid: the runner's is within one unit in the last place, 2^-23 of the value at most, and numpy's tanh and exp are
/// within 4; Sigmoid's addition and division round by a half of one each.
double allowed_difference(const file::Node &n, const std::vector<tensor> &inputs, float expected) {
    const auto &op = n.op_type();
    if (op == "Tanh" || op == "Sigmoid") return std::ldexp(6 * std::abs(double {expected}), -23);
    if (op != "MatMul" && op != "Gemm") return 0;
    const auto &a = inputs[0].what.shape;
    const auto k = static_cast<double>(attribute_of(n, "transA", 0) != 0 ? a.front() : a.back());
    auto terms =
            k * largest_magnitude(inputs[0]) * largest_magnitude(inputs[1]) * std::abs(attribute_of(n, "alpha", 1));
    if (inputs.size() > 2) terms += largest_magnitude(inputs[2]) * std::abs(attribute_of(n, "beta", 1));
    return std::ldexp((k + 4) * terms, -24);
}

void expect_equal(const file::Node &n, const std::vector<tensor> &inputs, const tensor &expected,
        const std::vector<std::byte> &given) {
    ASSERT_EQ(given.size(), expected.data.size());
    if (given == expected.data) return;
    const auto element = *onnx::data_type_of(expected.what.type);
    ASSERT_FALSE(test::is_integer(element)) << "integers are not the same";
    const auto wanted = test::decode_reals(element, expected.data), found = test::decode_reals(element, given);
    for (std::size_t i = 0; i < wanted.size(); ++i) {
        if (std::isnan(wanted[i]) && std::isnan(found[i])) continue;
        EXPECT_LE(std::abs(double {found[i]} - wanted[i]), allowed_difference(n, inputs, wanted[i]))
                << "element " << i << ": expected " << wanted[i] << ", given " << found[i];
    }
}

/// Whether shapes or preparation depend on this input.
bool must_be_constant(const std::string &op, int input) {
    if (op == "Reshape") return input == 1;
    return (op == "MatMulInteger" || op == "ConvInteger") && input > 0;
}

/// Turns inputs that must be constant into initializers.
void make_constants(file::Model &m, const fs::path &folder) {
    auto &g = *m.mutable_graph();
    for (int i = 0; i < g.input_size(); ++i)
        for (int at = 0; at < g.node(0).input_size(); ++at)
            if (g.node(0).input(at) == g.input(i).name() && must_be_constant(g.node(0).op_type(), at)) {
                auto &constant = *g.add_initializer();
                constant = tensor_message(tensor_path(folder, "input", i));
                constant.set_name(g.input(i).name());
            }
}

/// Runs the model with the folder's inputs and compares the outputs. Throws `error` if the model is refused.
void run(const file::Model &m, const fs::path &folder) {
    const auto loaded = model::parse(m.SerializeAsString(), name_of(folder));
    const auto &g = m.graph();
    std::vector<tensor> inputs;
    std::vector<std::unique_ptr<guarded_buffer>> buffers;
    std::vector<const void *> pointers;
    for (int i = 0; i < g.input_size(); ++i) {
        inputs.push_back(tensor_in(tensor_path(folder, "input", i)));
        const auto port = std::ranges::find(loaded.inputs(), g.input(i).name(), &model_port::name);
        if (port == loaded.inputs().end()) continue; // a constant
        EXPECT_EQ((tensor_type {port->type, port->shape}), inputs.back().what);
        const auto &data = inputs.back().data;
        buffers.push_back(std::make_unique<guarded_buffer>(data.size(), guarded_buffer::place::at_back));
        buffers.back()->fill(data);
        pointers.push_back(buffers.back()->data());
    }
    ASSERT_EQ(pointers.size(), loaded.inputs().size());

    const auto expected = tensor_in(tensor_path(folder, "output", 0));
    EXPECT_FALSE(fs::exists(tensor_path(folder, "output", 1)));
    ASSERT_EQ(loaded.outputs().size(), 1U);
    EXPECT_EQ((tensor_type {loaded.outputs().front().type, loaded.outputs().front().shape}), expected.what);
    const guarded_buffer y(expected.data.size(), guarded_buffer::place::at_back);
    std::memset(y.data(), 0, y.size()); // a run preserves the unused bits of the last byte
    loaded.run(pointers, {y.data()});
    EXPECT_TRUE(y.intact()) << "bytes beside the output were written";
    expect_equal(g.node(0), inputs, expected, y.bytes());
}

TEST(model_node_vectors, give_the_outputs_or_are_refused) {
    std::map<std::string, counts> given;
    std::set<const refusal *> met;
    for (const auto &[op, tests] : folders())
        for (const auto &folder : tests) {
            const auto name = name_of(folder);
            SCOPED_TRACE(name);
            auto m = model_in(folder);
            make_constants(m, folder);
            try {
                run(m, folder);
                ++given[op].taken;
            } catch (const error &e) {
                const auto *listed = find_refusal(name, e);
                EXPECT_NE(listed, nullptr) << "status " << e.status << ": " << e.message;
                met.insert(listed);
                ++given[op].refused;
            }
        }
    EXPECT_EQ(given, expected_counts);
    for (const auto &r : refusals)
        EXPECT_TRUE(met.contains(&r)) << r.tests << " is listed, and no such test is refused like that";
}

/// The list of operators in a refusal is the runner's list.
TEST(model_node_vectors, are_there_for_every_operator) {
    std::string names;
    std::vector<std::string> operators;
    for (const auto &[op, count] : expected_counts)
        if (op != "Constant" && op != "DynamicQuantizeLinear") operators.push_back(op);
    for (const auto &op : operators)
        names += (names.empty() ? "" : op == operators.back() ? " or " : ", ") + op;
    try {
        model::parse(write(one_node({"Unknown", "", "", {"x"}}, float_, {1})), "m.onnx");
        ADD_FAILURE() << "taken";
    } catch (const error &e) {
        EXPECT_EQ(e.status, dnnl_unimplemented);
        EXPECT_EQ(e.message, "m.onnx: operators: expected " + names + ", given Unknown of node 'n'");
    }
}

// ---- Integer products ----

/// Makes int8 of uint8 by inverting the highest bit, which subtracts 128. Done to w and its zero point it does not
/// change their difference.
void make_signed(file::Tensor &t) {
    ASSERT_EQ(t.data_type(), type::uint8);
    ASSERT_TRUE(t.has_raw_data());
    t.set_data_type(type::int8);
    for (auto &byte : *t.mutable_raw_data())
        byte = static_cast<char>(byte ^ '\x80');
}

file::Tensor *initializer(file::Graph &g, const std::string &name) {
    const auto found = std::ranges::find(*g.mutable_initializer(), name, &file::Tensor::name);
    return found == g.mutable_initializer()->end() ? nullptr : &*found;
}

TEST(model_node_vectors, integer_products_with_their_weights_as_int8) {
    constexpr int w = 1, w_zero_point = 3;
    int count = 0;
    for (const char *op : {"MatMulInteger", "ConvInteger"})
        for (const auto &folder : folders().at(op)) {
            SCOPED_TRACE(name_of(folder));
            auto m = model_in(folder);
            make_constants(m, folder);
            auto &g = *m.mutable_graph();
            auto &n = *g.mutable_node(0);
            make_signed(*initializer(g, n.input(w)));
            if (n.input_size() <= w_zero_point) { // 0
                while (n.input_size() < w_zero_point)
                    n.add_input("");
                n.add_input("w_zero_point");
                auto &zero = *g.add_initializer();
                zero.set_name("w_zero_point");
                zero.set_data_type(type::uint8);
                zero.set_raw_data(std::string(1, '\0'));
            }
            make_signed(*initializer(g, n.input(w_zero_point)));
            run(m, folder);
            ++count;
        }
    EXPECT_EQ(count, 7 + 14);
}

} // namespace
} // namespace dynquant::models

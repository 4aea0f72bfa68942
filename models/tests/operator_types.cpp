// Every row of the operator table, with every element type: listed types run and write exactly their output, all others
// are refused.
#include <algorithm>

#include <gtest/gtest.h>

#include "model/op_schema.hpp"
#include "model_support.hpp"
#include "support/fails.hpp"
#include "support/guarded_buffer.hpp"

namespace dynquant::models {
namespace {

using test::guarded_buffer;

constexpr std::int64_t oldest_opset = 10;
constexpr onnx::element_type last_type = onnx::type::float6e3m2;

tensor zeros(onnx::element_type type, const dims &shape) {
    const tensor_type what {type, shape};
    return {what, std::vector<std::byte>(static_cast<std::size_t>(*size_in_bytes(what)))};
}

/// The operator's other inputs, which are constants, for x of this type.
std::vector<tensor> others_of(const std::string &op, onnx::element_type x) {
    if (op == "Add" || op == "Mul" || op == "MatMul") return {zeros(x, {3, 3})};
    if (op == "Gemm") return {zeros(x, {3, 3}), zeros(x, {3})};
    if (op == "Conv") return {zeros(x, {1, 1, 2, 2}), zeros(x, {1})};
    if (op == "MatMulInteger") return {zeros(int8, {3, 3}), zeros(x, {}), zeros(int8, {3})};
    if (op == "ConvInteger") return {zeros(int8, {1, 1, 2, 2}), zeros(x, {}), zeros(int8, {1})};
    if (op == "Reshape") return {tensor_of<std::int64_t>(int64, {1}, {9})};
    return {};
}

std::vector<attribute> attributes_of(const std::string &op) {
    if (op == "Cast") return {{"to", std::int64_t {float_}}};
    if (op == "MaxPool") return {{"kernel_shape", std::vector<std::int64_t> {2, 2}}};
    return {};
}

/// A node with all inputs of the row, at the first opset of the row.
graph example_of(const op_schema &row, onnx::element_type type) {
    const std::string op = row.name;
    const bool is_spatial = op == "Conv" || op == "ConvInteger" || op == "MaxPool";
    node n {op, "", "", {"x"}, {}, attributes_of(op)};
    const auto others = others_of(op, type);
    for (std::size_t i = 0; i < others.size(); ++i)
        n.inputs.push_back(row.inputs[i + 1].name);
    auto g = one_node(n, type, is_spatial ? dims {1, 1, 3, 3} : dims {3, 3});
    for (std::size_t i = 0; i < others.size(); ++i)
        g.initializers[n.inputs[i + 1]] = others[i];
    g.opsets[""] = std::max(row.since, oldest_opset);
    return g;
}

/// Runs on zeros. All operators give zeros, except Sigmoid, which gives halves.
void expect_to_run(const graph &g) {
    const auto m = model::parse(write(g), "m.onnx");
    const guarded_buffer x(bytes_of(m.inputs().front()), guarded_buffer::place::at_back);
    const guarded_buffer y(bytes_of(m.outputs().front()), guarded_buffer::place::at_back);
    std::fill_n(x.data(), x.size(), std::byte {0});
    m.run({x.data()}, {y.data()});
    EXPECT_TRUE(y.intact());
    if (g.nodes.front().op_type != "Sigmoid") {
        EXPECT_EQ(y.bytes(), std::vector<std::byte>(y.size()));
    }
}

void expect_refusal(const graph &g, const op_schema &row, onnx::element_type type) {
    EXPECT_TRUE(test::fails([&] { model::parse(write(g), "m.onnx"); }, status::invalid_data_type,
            "m.onnx: node 'n' (" + std::string(row.name) + "): " + row.inputs[0].name + " 'x': expected type "
                    + names_of(row.inputs[0].types) + ", what dynquant computes at opset "
                    + std::to_string(g.opsets.at("")) + ", given " + onnx::name_of(type)));
}

class model_operator_types : public testing::TestWithParam<op_schema> {};

TEST_P(model_operator_types, run_or_are_refused) {
    const auto &row = GetParam();
    int taken = 0;
    for (onnx::element_type type = 1; type <= last_type; ++type) {
        if (!bits_in(type)) continue; // strings and other types that tensors of models cannot have
        SCOPED_TRACE(onnx::name_of(type));
        const auto g = example_of(row, type);
        if (row.inputs.front().types.contains(type)) {
            ++taken;
            expect_to_run(g);
        } else {
            expect_refusal(g, row, type);
        }
    }
    EXPECT_GT(taken, 0);
}

/// dynquant::onnx, not the table, has the types of QuantizeLinear and DequantizeLinear.
std::vector<op_schema> rows() {
    std::vector<op_schema> result;
    for (const auto &row : op_schemas())
        if (!row.checked_elsewhere) result.push_back(row);
    return result;
}

INSTANTIATE_TEST_SUITE_P(row, model_operator_types, testing::ValuesIn(rows()),
        [](const auto &tested) { return tested.param.name + std::string("_") + std::to_string(tested.param.since); });

/// Cast between every pair of types.
TEST(model_cast_types, every_pair) {
    const std::map<onnx::element_type, onnx::type_set> known = {
            {onnx::type::float32, {float_, float16, int32, uint8, int8}},
            {onnx::type::float16, {float16, float_}},
            {onnx::type::int32, {int32, uint8, int8}},
            {onnx::type::uint8, {uint8}},
            {onnx::type::int8, {int8}},
    };
    for (const auto from : {float_, float16, int32, uint8, int8})
        for (onnx::element_type to = 0; to <= last_type + 1; ++to) {
            SCOPED_TRACE(onnx::name_of(from) + " to " + onnx::name_of(to));
            auto g = one_node({"Cast", "", "", {"x"}, {}, {{"to", std::int64_t {to}}}}, from, {3, 3});
            const auto at = known.find(to);
            if (at != known.end() && at->second.contains(from)) {
                expect_to_run(g);
                continue;
            }
            EXPECT_TRUE(test::fails([&] { model::parse(write(g), "m.onnx"); }, status::unimplemented,
                    "m.onnx: node 'n' (Cast): attribute 'to': expected a cast of any of these types to float, of float "
                    "to float16, or of uint8 or int8 to int32, given one of "
                            + onnx::name_of(from) + " to " + onnx::name_of(to)));
        }
}

} // namespace
} // namespace dynquant::models

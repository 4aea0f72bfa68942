// Model files are parsed and written exactly; wrong, truncated, changed and foreign files are refused.
#include "model/file.hpp"

#include <cstring>
#include <functional>

#include <gtest/gtest.h>

namespace dynquant::models {
namespace {

// ---- Messages of protobuf, encoded by hand without its library ----

std::string varint(std::uint64_t value) {
    std::string bytes;
    for (; value > 127; value >>= 7)
        bytes += static_cast<char>((value & 127) | 128);
    return bytes + static_cast<char>(value);
}

std::string number(int field, std::int64_t value) {
    return varint(static_cast<std::uint64_t>(field) << 3) + varint(static_cast<std::uint64_t>(value));
}

std::string text(int field, const std::string &bytes) {
    return varint(static_cast<std::uint64_t>(field) << 3 | 2) + varint(bytes.size()) + bytes;
}

const std::string opset_13 = text(8, number(2, 13));

std::string model(const std::string &graph) {
    return number(1, 8) + text(7, graph) + opset_13;
}

/// A type: a number of TensorProto.DataType, and the messages of the shape.
std::string value(const std::string &name, int type, const std::string &shape) {
    return text(1, name) + text(2, text(1, number(1, type) + text(2, shape)));
}

std::string extent(std::int64_t size) {
    return text(1, number(1, size));
}

std::string relu(const std::string &from, const std::string &to) {
    return text(1, text(1, from) + text(2, to) + text(4, "Relu"));
}

const std::string x_and_y = text(11, value("x", 1, extent(2))) + text(12, value("y", 1, extent(2)));

std::string with_initializer(const std::string &tensor) {
    return model(relu("x", "y") + x_and_y + text(5, tensor + text(8, "w")));
}

std::vector<std::byte> bytes(std::initializer_list<int> values) {
    std::vector<std::byte> result;
    for (const int v : values)
        result.push_back(static_cast<std::byte>(v));
    return result;
}

std::string refusal(const std::string &bytes) {
    try {
        read(bytes);
    } catch (const error &e) {
        return e.what();
    }
    return "taken";
}

// ---- What files state ----

TEST(model_file, states_a_graph) {
    const auto g = read(model(relu("x", "y") + x_and_y + text(2, "g")));
    EXPECT_EQ(g.name, "g");
    EXPECT_EQ(g.opsets, (std::map<std::string, std::int64_t> {{"", 13}}));
    EXPECT_EQ(g.nodes, (std::vector<node> {{"Relu", "", "", {"x"}, {"y"}}}));
    EXPECT_EQ(g.inputs, (std::vector<port> {{"x", 1, dims {2}}}));
    EXPECT_EQ(g.outputs, (std::vector<port> {{"y", 1, dims {2}}}));
}

TEST(model_file, extents_may_be_open) {
    const auto open = text(1, text(2, "batch")), unsaid = text(1, "");
    const auto g = read(model(relu("x", "y") + text(11, value("x", 1, open + unsaid + extent(3)))
            + text(12, text(1, "y") + text(2, text(1, number(1, 1))))));
    EXPECT_EQ(g.inputs.front().shape, (dims {free_extent, free_extent, 3}));
    EXPECT_EQ(g.outputs.front().shape, std::nullopt);
}

TEST(model_file, tensors_in_every_field) {
    const auto data = [](const std::string &tensor) {
        return read(with_initializer(tensor)).initializers.at("w").data;
    };
    const auto one = std::string("\0\0\x80\x3f", 4);
    EXPECT_EQ(data(number(1, 2) + number(2, 2) + text(9, "ab")), bytes({'a', 'b'})); // uint8, raw
    EXPECT_EQ(data(number(2, 1) + text(4, one)), bytes({0, 0, 0x80, 0x3f}));         // a scalar of float
    EXPECT_EQ(data(number(1, 2) + number(2, 3) + text(5, varint(1) + varint(std::uint64_t(-2)))), bytes({1, 254}));
    EXPECT_EQ(data(number(1, 1) + number(2, 6) + text(5, varint(std::uint64_t(-2)))), bytes({254, 255, 255, 255}));
    EXPECT_EQ(data(number(1, 1) + number(2, 10) + text(5, varint(0x3c00))), bytes({0, 0x3c})); // float16
    EXPECT_EQ(data(number(1, 1) + number(2, 7) + text(7, varint(std::uint64_t(-1)))),
            bytes({255, 255, 255, 255, 255, 255, 255, 255}));
    EXPECT_EQ(data(number(1, 1) + number(2, 12) + text(11, varint(0x04030201))), bytes({1, 2, 3, 4}));
    EXPECT_EQ(data(number(1, 3) + number(2, 21) + text(5, varint(0x21) + varint(3))), bytes({0x21, 3})); // uint4
    EXPECT_EQ(data(number(1, 0) + number(2, 1)), bytes({}));
}

TEST(model_file, attributes_of_every_kind) {
    const auto a = [](const std::string &name, int type, const std::string &content) {
        return text(5, text(1, name) + number(20, type) + content);
    };
    const auto half = std::string("\x15\0\0\0\x3f", 5); // field 2, four bytes
    const auto g = read(model(text(1,
                                      text(1, "x") + text(2, "y") + text(4, "Odd") + text(7, "ai.onnx") + text(3, "n")
                                              + a("f", 1, half) + a("i", 2, number(3, -1)) + a("s", 3, text(4, "SAME"))
                                              + a("t", 4, text(5, number(2, 2) + text(9, "a")))
                                              + a("v", 7, number(8, 1) + number(8, 2)) + a("g", 5, ""))
            + x_and_y));
    const auto &n = g.nodes.front();
    EXPECT_EQ(n.domain, "");
    EXPECT_EQ(n.attributes,
            (std::vector<attribute> {{"f", 0.5F}, {"i", std::int64_t {-1}}, {"s", "SAME"},
                    {"t", tensor {{2, {}}, bytes({'a'})}}, {"v", std::vector<std::int64_t> {1, 2}},
                    {"g", attribute::other {5}}}));
}

TEST(model_file, an_input_with_a_default_is_an_initializer) {
    const auto g = read(model(relu("x", "y") + x_and_y + text(11, value("w", 2, extent(1)))
            + text(5, number(1, 1) + number(2, 2) + text(9, "a") + text(8, "w"))));
    EXPECT_EQ(g.inputs.size(), 1U);
    EXPECT_EQ(g.initializers.at("w").what, (tensor_type {2, {1}}));
}

TEST(model_file, nodes_in_any_order) {
    const auto g = read(model(relu("b", "y") + relu("a", "b") + relu("x", "a") + relu("x", "c") + x_and_y));
    std::vector<std::string> order;
    for (const auto &n : g.nodes)
        order.push_back(n.outputs.front());
    EXPECT_EQ(order, (std::vector<std::string> {"a", "b", "y", "c"}));
}

TEST(model_file, written_is_what_is_read) {
    graph g;
    g.name = "g";
    g.opsets = {{"", 21}, {"com.amd.quark", 1}};
    g.inputs = {{"x", 2, dims {free_extent, 3}}, {"u", 1, std::nullopt}, {"v", 1, dims {3, free_extent}, {"", "n"}}};
    g.outputs = {{"y", 3, dims {1, 2}}};
    g.initializers = {{"w", {{3, {3, 2}}, bytes({1, 2, 3, 4, 5, 255})}}, {"empty", {{1, {0}}, {}}}};
    g.nodes = {{"A", "", "first", {"x", "", "w"}, {"z"}, {{"f", 0.5F}, {"i", std::int64_t {-1}}, {"s", "SAME"}}},
            {"B", "com.amd.quark", "", {"z", "u"}, {"y", ""},
                    {{"t", tensor {{2, {}}, bytes({7})}}, {"v", std::vector<std::int64_t> {1, -2}},
                            {"w", std::vector<float> {1, 2}}}}};
    EXPECT_EQ(read(write(g)), g);
    g.nodes.front().attributes.push_back({"g", attribute::other {5}});
    EXPECT_THROW(write(g), error);
}

TEST(model_file, written_byte_for_byte) {
    graph g;
    g.name = "g";
    g.opsets = {{"", 13}};
    g.nodes = {{"Relu", "", "", {"x"}, {"y"}}};
    g.inputs = {{"x", 1, dims {2}}};
    g.outputs = {{"y", 1, dims {2}}};
    EXPECT_EQ(write(g),
            number(1, 8) + text(2, "dynquant") + text(7, relu("x", "y") + text(2, "g") + x_and_y)
                    + text(8, text(1, "") + number(2, 13)));
}

// ---- What is wrong with files ----

TEST(model_file, that_is_none) {
    EXPECT_EQ(refusal("hello"), "expected a model of ONNX, given bytes that are none or are cut short");
    EXPECT_EQ(refusal(""), "expected a model with a graph, given bytes that state none");
    EXPECT_EQ(refusal(text(7, "")), "opset_import: expected a version of ONNX's own operators, given none");
    EXPECT_EQ(refusal(model("") + opset_13), "opset_import: expected each domain once, given '' more often");
}

TEST(model_file, with_wrong_tensors) {
    EXPECT_EQ(refusal(with_initializer(number(1, 4) + number(2, 2) + text(9, "abc"))),
            "initializer 'w': expected 4 bytes for uint8 4, given 3");
    EXPECT_EQ(refusal(with_initializer(number(1, -1) + number(2, 2))),
            "initializer 'w': expected extents of 0 or more, given -1");
    EXPECT_EQ(refusal(with_initializer(number(1, 1LL << 40) + number(1, 1LL << 40) + number(2, 2))),
            "initializer 'w': expected fewer than 2^44 elements, where extents of 0 count as 1, given shape "
            "1099511627776x1099511627776");
    EXPECT_EQ(refusal(with_initializer(number(1, 1) + number(2, 8))),
            "initializer 'w': expected numbers, given elements of type string");
    EXPECT_EQ(refusal(with_initializer(number(2, 2) + number(14, 1))),
            "initializer 'w': expected its elements in the file itself, given external data");
    std::string rank_13 = number(2, 2);
    for (int i = 0; i < 13; ++i)
        rank_13 += number(1, 1);
    EXPECT_EQ(refusal(with_initializer(rank_13)), "initializer 'w': expected rank 0 to 12, given 13");
    const auto twice = text(5, number(2, 2) + text(9, "a") + text(8, "w"));
    EXPECT_EQ(refusal(model(relu("x", "y") + x_and_y + twice + twice)),
            "initializer 'w': expected one of that name, given more");
    EXPECT_EQ(refusal(model(relu("x", "y") + x_and_y + text(15, ""))),
            "initializers: expected dense ones, given a sparse one");
}

TEST(model_file, with_wrong_ports) {
    EXPECT_EQ(refusal(model(text(11, text(1, "x")))), "input 'x': expected a tensor type, given none");
    EXPECT_EQ(refusal(model(text(11, text(1, "x") + text(2, "")))), "input 'x': expected a tensor type, given none");
    const auto sequence = text(2, text(4, ""));
    EXPECT_EQ(refusal(model(text(11, text(1, "x") + sequence))), "input 'x': expected a tensor, given another type");
    EXPECT_EQ(refusal(model(text(11, value("x", 1, extent(-5))))),
            "input 'x': expected extents of 0 or more, or -1 for an open one, given -5");
    EXPECT_EQ(refusal(model(relu("x", "z") + x_and_y)),
            "output 'y': expected a value that a node computes, an input or an initializer, given none of that name");
    EXPECT_EQ(refusal(model(relu("x", "y") + x_and_y + text(12, value("y", 1, extent(2))))),
            "output 'y': expected it once, given it more often");
}

TEST(model_file, with_wrong_nodes) {
    EXPECT_EQ(refusal(model(relu("w", "y") + x_and_y)),
            "node of 'y' (Relu): input 'w': expected an initializer, an input of the graph or another node's output, "
            "given none of that name");
    EXPECT_EQ(refusal(model(relu("x", "y") + relu("x", "y") + x_and_y)),
            "value 'y': expected one definition, given node of 'y' (Relu) and node of 'y' (Relu)");
    EXPECT_EQ(refusal(model(relu("x", "x") + x_and_y)),
            "value 'x': expected one definition, given an input or an initializer of the graph and node of 'x' (Relu)");
    EXPECT_EQ(refusal(model(relu("a", "y") + relu("b", "a") + relu("a", "b") + x_and_y)),
            "node of 'a' (Relu): expected a graph without cycles, given one in which it needs its own result");
    EXPECT_EQ(refusal(model(
                      text(1, text(2, "y") + text(4, "Relu") + text(5, text(1, "a") + text(21, "outer"))) + x_and_y)),
            "node of 'y' (Relu): attribute 'a': expected a value, given a reference to a function's attribute");
}

// ---- Hostile files ----

std::string example() {
    graph g;
    g.opsets = {{"", 13}};
    g.inputs = {{"x", 2, dims {1, 3}}};
    g.outputs = {{"y", 6, dims {1, 2}}};
    g.initializers = {{"w", {{3, {3, 2}}, bytes({1, 2, 3, 4, 5, 6})}}};
    g.nodes = {{"MatMulInteger", "", "fc", {"x", "w"}, {"y"}, {{"i", std::int64_t {1}}}}};
    return write(g);
}

TEST(model_file, cut_at_any_byte) {
    const auto whole = example();
    EXPECT_NO_THROW(read(whole));
    for (std::size_t size = 0; size < whole.size(); ++size)
        EXPECT_NE(refusal(whole.substr(0, size)), "taken") << size; // the opset is last
}

/// Whether an attribute has a kind that write() does not support.
bool has_unknown_kind(const graph &g) {
    return std::ranges::any_of(g.nodes, [](const node &n) {
        return std::ranges::any_of(
                n.attributes, [](const attribute &a) { return std::holds_alternative<attribute::other>(a.value); });
    });
}

TEST(model_file, with_any_byte_changed) {
    const auto whole = example();
    for (std::size_t at = 0; at < whole.size(); ++at)
        for (int value = 0; value < 256; ++value) {
            auto changed = whole;
            changed[at] = static_cast<char>(value);
            const auto why = refusal(changed); // one clean error, or a model that can be written and read again
            if (why != "taken") {
                EXPECT_NE(why.find("expected "), std::string::npos) << why;
                EXPECT_NE(why.find("given "), std::string::npos) << why;
            } else if (const auto g = read(changed); !has_unknown_kind(g)) {
                EXPECT_EQ(read(write(g)), g) << at << ", " << value;
            }
        }
}

TEST(model_file, of_a_thousand_levels) {
    std::string nested;
    for (int i = 0; i < 1000; ++i)
        nested = text(7, nested);
    EXPECT_NE(refusal(nested), "taken");
}

TEST(model_file, of_many_nodes_in_the_worst_order) {
    std::string graph = x_and_y;
    constexpr int count = 20000;
    for (int i = count; i-- > 0;)
        graph += relu(i == 0 ? "x" : std::to_string(i), i == count - 1 ? "y" : std::to_string(i + 1));
    EXPECT_EQ(read(model(graph)).nodes.size(), static_cast<std::size_t>(count));
}

TEST(model_file, that_is_not_there) {
    EXPECT_THROW(bytes_of_file("no such file"), error);
    EXPECT_THROW(bytes_of_file("/"), error);
}

} // namespace
} // namespace dynquant::models

// Model files are parsed and written exactly; wrong, truncated, changed and foreign files are refused.
#include "model/file.hpp"

#include <algorithm>
#include <cstring>
#include <functional>

#include <gtest/gtest.h>
#include <sys/stat.h>

#include "dynquant/model.hpp"
#include "support/fails.hpp"
#include "support/program.hpp"

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

TEST(model_file, states_a_graph_byte_for_byte) {
    graph g;
    g.name = "g";
    g.opsets = {{"", 13}};
    g.nodes = {{"Relu", "", "", {"x"}, {"y"}}};
    g.inputs = {{"x", 1, dims {2}}};
    g.outputs = {{"y", 1, dims {2}}};
    const auto stated = number(1, 8) + text(2, "dynquant") + text(7, relu("x", "y") + text(2, "g") + x_and_y)
            + text(8, text(1, "") + number(2, 13));
    EXPECT_EQ(write(g), stated);
    EXPECT_EQ(read(stated), g);
}

TEST(model_file, extents_may_be_open) {
    const auto open = text(1, text(2, "batch")), unsaid = text(1, "");
    const auto g = read(model(relu("x", "y") + text(11, value("x", 1, open + unsaid + extent(3)))
            + text(12, text(1, "y") + text(2, text(1, number(1, 1))))));
    EXPECT_EQ(g.inputs.front().shape, (dims {free_extent, free_extent, 3}));
    EXPECT_EQ(g.inputs.front().names, (std::vector<std::string> {"batch", "", ""}));
    EXPECT_EQ(g.outputs.front().shape, std::nullopt);
    // Exporters write such extents without a name; they need not be alike.
    const auto unnamed = text(1, text(2, "?")) + extent(-1);
    const auto x = read(model(text(11, value("x", 1, unnamed + unnamed)))).inputs.front();
    EXPECT_EQ(x, (port {"x", 1, dims(4, free_extent)}));
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
                    {"g", attribute::other {attribute_type {5}}}}));
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
    g.nodes.front().attributes.push_back({"g", attribute::other {attribute_type {5}}});
    EXPECT_THROW(write(g), error);
}

// ---- What is wrong with files ----

TEST(model_file, that_is_none) {
    const std::string none = "expected a model of ONNX, given bytes that are none or are cut short";
    EXPECT_EQ(refusal("hello"), none);
    EXPECT_TRUE(test::fails([] { model::parse("hello", "m.onnx"); }, status::invalid_arguments, "m.onnx: " + none));
    const auto whole = with_initializer(number(1, 4) + number(2, 2) + text(9, "abcd"));
    EXPECT_EQ(refusal(whole), "taken");
    EXPECT_EQ(refusal(whole.substr(0, whole.size() / 2)), none);
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
    EXPECT_EQ(refusal(with_initializer(number(2, 2) + number(14, 2))),
            "initializer 'w': data_location: expected 0 or 1, given 2");
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
    EXPECT_EQ(refusal(model(text(12, text(1, "y")))), "output 'y': expected a tensor type, given none");
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

// ---- Elements in other files ----

std::string entry(const std::string &key, const std::string &value) {
    return text(13, text(1, key) + text(2, value));
}

/// A tensor of three uint8 whose elements are elsewhere.
std::string external(const std::string &entries) {
    return number(1, 3) + number(2, 2) + number(14, 1) + entries;
}

/// A folder of models, m, with the files w.data, of the bytes 0 to 9, and in/w.data, of the bytes 10 to 13. Beside it
/// is a file o.data that no model of the folder may name.
class model_file_with_external_data : public testing::Test {
  protected:
    model_file_with_external_data() {
        std::filesystem::create_directories(models / "in");
        write_bytes(models / "w.data", {0, 1, 2, 3, 4, 5, 6, 7, 8, 9});
        write_bytes(models / "in/w.data", {10, 11, 12, 13});
        write_bytes(outer.path / "o.data", {20, 21, 22});
    }

    static void write_bytes(const std::filesystem::path &file, const std::vector<char> &values) {
        std::ofstream(file, std::ios::binary).write(values.data(), static_cast<std::streamsize>(values.size()));
    }

    std::vector<std::byte> data(const std::string &entries) const {
        return read(with_initializer(external(entries)), models.string()).initializers.at("w").data;
    }

    testing::AssertionResult refused(const std::string &entries, const std::string &message) const {
        return test::fails(
                [&] { data(entries); }, status::invalid_arguments, "initializer 'w': external data: " + message);
    }

    testing::AssertionResult refused_location(const std::string &location, const std::string &message) const {
        return refused(entry("location", location), message);
    }

    const test::scratch_folder outer;
    const std::filesystem::path models = outer.path / "m";
    const std::string w_data = entry("location", "w.data");
};

TEST_F(model_file_with_external_data, is_read) {
    EXPECT_EQ(data(w_data), bytes({0, 1, 2}));
    EXPECT_EQ(data(entry("length", "3") + w_data + entry("offset", "7")), bytes({7, 8, 9}));
    EXPECT_EQ(data(entry("location", "./in//w.data") + entry("offset", "1")), bytes({11, 12, 13}));
    // A digest is not compared. The loader of the onnx package adds the folder.
    EXPECT_EQ(data(w_data + entry("checksum", "0") + entry("basepath", "/")), bytes({0, 1, 2}));
    const auto empty = number(1, 0) + number(2, 2) + number(14, 1) + w_data + entry("offset", "10");
    EXPECT_EQ(read(with_initializer(empty), models.string()).initializers.at("w").data, bytes({}));
}

TEST_F(model_file_with_external_data, is_read_for_attributes) {
    const auto constant = [&](const std::string &entries) {
        return model(text(1,
                             text(2, "c") + text(4, "Constant")
                                     + text(5, text(1, "value") + number(20, 4) + text(5, external(entries))))
                + relu("x", "y") + x_and_y);
    };
    const auto g = read(constant(w_data + entry("offset", "4")), models.string());
    EXPECT_EQ(g.nodes.front().attributes.front(), (attribute {"value", tensor {{2, {3}}, bytes({4, 5, 6})}}));
    EXPECT_TRUE(test::fails([&] { read(constant(""), models.string()); }, status::invalid_arguments,
            "node of 'c' (Constant): attribute 'value': external data: location: expected a path within the model's "
            "folder, given ''"));
}

TEST_F(model_file_with_external_data, is_written_into_the_model) {
    const auto g = read(with_initializer(external(w_data)), models.string());
    EXPECT_EQ(read(write(g)), g);
}

TEST_F(model_file_with_external_data, lies_beside_the_model_or_in_the_folder_of_the_options) {
    const auto identity = text(1, text(1, "w") + text(2, "y") + text(4, "Identity"));
    const auto whole = model(identity + text(5, external(w_data) + text(8, "w")) + text(12, value("y", 2, extent(3))));
    std::ofstream(models / "m.onnx", std::ios::binary) << whole;
    std::filesystem::create_symlink(models, outer.path / "link");
    std::filesystem::create_symlink("m/m.onnx", outer.path / "l.onnx");
    const auto y = [](const dynquant::model &m) {
        std::vector<std::byte> result(3);
        m.run({}, {result.data()});
        return result;
    };
    EXPECT_EQ(y(model::load((models / "m.onnx").string())), bytes({0, 1, 2}));
    EXPECT_EQ(y(model::load((outer.path / "link/m.onnx").string())), bytes({0, 1, 2}));
    model_options options;
    options.folder = models.string();
    EXPECT_EQ(y(model::parse(whole, "memory", options)), bytes({0, 1, 2}));
    EXPECT_EQ(y(model::load((outer.path / "l.onnx").string(), options)), bytes({0, 1, 2}));
    EXPECT_TRUE(test::fails([&] { model::parse(whole, "memory"); }, status::invalid_arguments,
            "memory: initializer 'w': external data: expected a model that is read from a file, or a folder among the "
            "options, given a model in memory"));
    options.folder += "/none";
    EXPECT_TRUE(test::fails([&] { model::parse(whole, "memory", options); }, status::invalid_arguments,
            "memory: initializer 'w': external data: expected a folder '" + options.folder
                    + "', given No such file or directory"));
    // The folder of a model that is a link is that of the link, as in ONNX's checker.
    const auto link = (outer.path / "l.onnx").string();
    EXPECT_TRUE(test::fails([&] { model::load(link); }, status::invalid_arguments,
            link
                    + ": initializer 'w': external data: 'w.data': expected a file in the model's folder, given No "
                      "such file or "
                      "directory"));
}

TEST_F(model_file_with_external_data, has_a_location_within_the_folder) {
    const std::string path = "location: expected a path within the model's folder, given ";
    EXPECT_TRUE(refused(entry("offset", "0"), path + "''"));
    const auto absolute = (models / "w.data").string();
    for (const std::string location :
            {"../o.data", "../m/w.data", "..", "in/../w.data", "in/../../o.data", absolute.c_str()})
        EXPECT_TRUE(refused_location(location, path + "'" + location + "'"));
    EXPECT_TRUE(refused_location(std::string("w.data\0", 7), path + "'w.data\\x00'"));
    EXPECT_TRUE(refused(w_data + w_data, "expected each key once, given 'location' more often"));
    const auto absent = [](const std::string &location) {
        return "'" + location + "': expected a file in the model's folder, given ";
    };
    EXPECT_TRUE(refused_location("none", absent("none") + "No such file or directory"));
    EXPECT_TRUE(refused_location("none/w.data", absent("none/w.data") + "No such file or directory"));
    EXPECT_TRUE(refused_location("w.data/a", absent("w.data/a") + "Not a directory"));
    for (const std::string location : {".", "in"})
        EXPECT_TRUE(refused_location(location, "'" + location + "': expected a file, given something else"));
    ASSERT_EQ(mkfifo((models / "pipe").c_str(), 0600), 0);
    EXPECT_TRUE(refused_location("pipe", "'pipe': expected a file, given something else"));
}

TEST_F(model_file_with_external_data, is_behind_no_link) {
    std::filesystem::create_symlink(outer.path / "o.data", models / "out");
    std::filesystem::create_symlink(outer.path, models / "up");
    std::filesystem::create_symlink("w.data", models / "same");
    std::filesystem::create_symlink("in", models / "other");
    for (const std::string location : {"out", "up/o.data", "same", "other/w.data"})
        EXPECT_TRUE(refused_location(
                location, "'" + location + "': expected a file in the model's folder, given a symbolic link"));
}

TEST_F(model_file_with_external_data, lies_within_its_file) {
    const auto beyond = [](const std::string &offset) {
        return "'w.data': expected 3 bytes from byte " + offset + " on, given a file of 10";
    };
    for (const std::string offset : {"8", "10", "11", "9223372036854775805", "9223372036854775807"})
        EXPECT_TRUE(refused(w_data + entry("offset", offset), beyond(offset)));
    for (const std::string key : {"offset", "length"})
        for (const std::string number : {"9223372036854775808", "18446744073709551616", "-1", "", "0x1", "1 ", "+1"})
            EXPECT_TRUE(refused(w_data + entry(key, number),
                    key + ": expected a number from 0 to 2^63 - 1, given '" + number + "'"));
    for (const std::string length : {"0", "2", "4", "9223372036854775807"})
        EXPECT_TRUE(
                refused(w_data + entry("length", length), "length: expected 3, the bytes of uint8 3, given " + length));
    // No memory is taken for 2^43 elements that a file of ten bytes cannot have.
    const auto large = number(1, std::int64_t {1} << 43) + number(2, 2) + number(14, 1) + w_data;
    EXPECT_TRUE(test::fails([&] { read(with_initializer(large), models.string()); }, status::invalid_arguments,
            "initializer 'w': external data: 'w.data': expected 8796093022208 bytes from byte 0 on, given a file of "
            "10"));
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
    for (const char *path : {"no such file", "/"})
        EXPECT_THROW(model::load(path), error);
}

} // namespace
} // namespace dynquant::models

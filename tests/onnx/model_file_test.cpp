// Files that are cut short, changed, or something else: always one clean error or a tensor that is one.
#include <gtest/gtest.h>

#include "node_test.hpp"
#include "onnx.pb.h"

namespace dynquant::test {
namespace {

namespace proto = ::onnx;

proto::TensorProto tensor(std::vector<std::int64_t> shape, int type, const std::string &raw) {
    proto::TensorProto t;
    for (const auto extent : shape)
        t.add_dims(extent);
    t.set_data_type(type);
    t.set_raw_data(raw);
    return t;
}

proto::ModelProto model() {
    proto::ModelProto m;
    m.set_ir_version(8);
    auto *import = m.add_opset_import();
    import->set_version(13);
    auto *graph = m.mutable_graph();
    for (const char *name : {"x", "scale"}) {
        auto *input = graph->add_input();
        input->set_name(name);
        input->mutable_type()->mutable_tensor_type()->set_elem_type(1);
        input->mutable_type()->mutable_tensor_type()->mutable_shape()->add_dim()->set_dim_value(4);
    }
    auto *node = graph->add_node();
    node->set_op_type("QuantizeLinear");
    for (const char *name : {"x", "scale", ""})
        node->add_input(name);
    auto *axis = node->add_attribute();
    axis->set_name("axis");
    axis->set_type(proto::AttributeProto::INT);
    axis->set_i(-1);
    return m;
}

testing::AssertionResult refused(const std::string &message, const proto::TensorProto &t) {
    try {
        parse_tensor(t.SerializeAsString(), "t");
    } catch (const file_error &e) {
        if (e.what() == "t: " + message) return testing::AssertionSuccess();
        return testing::AssertionFailure() << e.what();
    }
    return testing::AssertionFailure() << "was taken";
}

testing::AssertionResult refused(const std::string &message, const proto::ModelProto &m) {
    try {
        parse_model(m.SerializeAsString(), "m");
    } catch (const file_error &e) {
        if (e.what() == "m: " + message) return testing::AssertionSuccess();
        return testing::AssertionFailure() << e.what();
    }
    return testing::AssertionFailure() << "was taken";
}

TEST(model_file, of_one_node) {
    const auto m = parse_model(model().SerializeAsString(), "m");
    EXPECT_EQ(m.node.op_type, "QuantizeLinear");
    EXPECT_EQ(m.node.opset, 13);
    EXPECT_EQ(m.node_inputs, (std::vector<int> {0, 1, -1}));
    ASSERT_EQ(m.node.attributes.size(), 1U);
    EXPECT_EQ(m.node.attributes[0].name, "axis");
    EXPECT_EQ(m.node.attributes[0].i, -1);
    EXPECT_EQ(m.node.attributes[0].type, 2);
    EXPECT_EQ(m.graph_inputs[1].shape, dims {4});
}

TEST(model_file, tensors_in_all_fields) {
    EXPECT_EQ(parse_tensor(tensor({2}, 2, "ab").SerializeAsString(), "t").data,
            (std::vector<std::byte> {std::byte {'a'}, std::byte {'b'}}));
    proto::TensorProto floats;
    floats.add_dims(1);
    floats.set_data_type(1);
    floats.add_float_data(1);
    EXPECT_EQ(parse_tensor(floats.SerializeAsString(), "t").data,
            (std::vector<std::byte> {std::byte {0}, std::byte {0}, std::byte {0x80}, std::byte {0x3f}}));
    proto::TensorProto words;
    words.add_dims(2);
    words.set_data_type(5); // int16
    words.add_int32_data(-2);
    words.add_int32_data(0x102);
    EXPECT_EQ(parse_tensor(words.SerializeAsString(), "t").data,
            (std::vector<std::byte> {std::byte {0xfe}, std::byte {0xff}, std::byte {2}, std::byte {1}}));
    proto::TensorProto unsigned_words;
    unsigned_words.set_data_type(12); // uint32, a scalar
    unsigned_words.add_uint64_data(0x04030201);
    EXPECT_EQ(parse_tensor(unsigned_words.SerializeAsString(), "t").data,
            (std::vector<std::byte> {std::byte {1}, std::byte {2}, std::byte {3}, std::byte {4}}));
    proto::TensorProto sixes;
    sixes.add_dims(2);
    sixes.set_data_type(27); // float6e2m3
    sixes.add_int32_data(0b100001);
    sixes.add_int32_data(0b111110);
    EXPECT_EQ(parse_tensor(sixes.SerializeAsString(), "t").data,
            (std::vector<std::byte> {std::byte {0b10100001}, std::byte {0b1111}}));
}

TEST(model_file, tensors_are_written_as_they_are_read) {
    const auto written = tensor({2, 3}, 2, "abcdef").SerializeAsString();
    EXPECT_EQ(serialize_tensor(parse_tensor(written, "t")), written);
}

TEST(model_file, tensors_that_are_none) {
    EXPECT_TRUE(refused("expected 4 bytes of elements, given 3", tensor({4}, 2, "abc")));
    EXPECT_TRUE(refused("expected 2 bytes of elements, given 3", tensor({4}, 21, "abc")));
    EXPECT_TRUE(refused("expected 1 bytes of elements, given 0", tensor({}, 2, "")));
    EXPECT_TRUE(refused("expected extents of 0 to 4294967296, given -1", tensor({-1}, 2, "a")));
    EXPECT_TRUE(refused("expected at most 4294967296 elements, given more", tensor({1LL << 31, 1LL << 31, 4}, 2, "a")));
    // Products that wrap around 2^64: to 0, to -2^63, to 0 and to -2^32.
    constexpr std::int64_t most = 1LL << 32;
    for (const auto &shape :
            {dims {most, most}, dims {most, most / 2}, dims {most, most / 2, 2}, dims {most, most - 1}})
        for (const auto type : {1, 21})
            EXPECT_TRUE(refused("expected at most 4294967296 elements, given more", tensor(shape, type, "")));
    EXPECT_TRUE(refused("expected elements of a type that quantization has, given int64", tensor({1}, 7, "abcdefgh")));
    EXPECT_TRUE(refused("expected elements of a type that quantization has, given type 99", tensor({1}, 99, "a")));
    auto external = tensor({1}, 2, "a");
    external.set_data_location(proto::TensorProto::EXTERNAL);
    EXPECT_TRUE(refused("expected the elements in the file, given an external location", external));
}

TEST(model_file, tensors_of_no_elements) {
    for (const auto &shape : {dims {0}, dims {1LL << 32, 0, 1LL << 32}, dims {1LL << 32, 1LL << 32, 0}})
        EXPECT_TRUE(parse_tensor(tensor(shape, 1, "").SerializeAsString(), "t").data.empty());
}

/// One element of the type, in int32_data.
proto::TensorProto entry(int type, std::int32_t number) {
    proto::TensorProto t;
    t.set_data_type(type);
    t.add_int32_data(number);
    return t;
}

TEST(model_file, tensors_with_numbers_beyond_their_type) {
    const auto beyond = [](const std::string &range, int type, std::int32_t number) {
        return refused("expected numbers of " + range + " in int32_data, given " + std::to_string(number),
                entry(type, number));
    };
    EXPECT_TRUE(beyond("0 to 255", 2, 300)); // uint8
    EXPECT_TRUE(beyond("0 to 255", 2, -1));
    EXPECT_TRUE(beyond("-128 to 127", 3, -129));      // int8
    EXPECT_TRUE(beyond("-32768 to 32767", 5, 32768)); // int16
    EXPECT_TRUE(beyond("0 to 65535", 10, 65536));     // float16
    EXPECT_TRUE(beyond("0 to 255", 17, 256));         // float8e4m3fn
    EXPECT_TRUE(beyond("0 to 255", 21, -1));          // two of uint4
    EXPECT_TRUE(beyond("-128 to 255", 22, 256));      // two of int4
    EXPECT_TRUE(beyond("0 to 63", 27, 64));           // float6e2m3
    proto::TensorProto words;
    words.set_data_type(12);
    words.add_uint64_data(1ULL << 32);
    EXPECT_TRUE(refused("expected numbers of 0 to 4294967295 in uint64_data, given 4294967296", words));
}

TEST(model_file, tensors_in_several_fields) {
    auto t = tensor({1}, 1, std::string(4, '\0'));
    t.add_float_data(1);
    EXPECT_TRUE(refused("expected the elements in one field, given them in 2", t));
    t.add_double_data(1);
    EXPECT_TRUE(refused("expected the elements in one field, given them in 3", t));
}

TEST(model_file, tensors_that_are_not_what_the_model_declares) {
    const auto m = parse_model(model().SerializeAsString(), "m"); // x and scale, both float [4]
    const tensor_file declared {{1, {4}}, {}};
    EXPECT_NO_THROW(check_inputs(m, {declared, declared}, "m"));
    const auto refusal = [&](const std::vector<tensor_file> &inputs) -> std::string {
        try {
            check_inputs(m, inputs, "m");
        } catch (const file_error &e) {
            return e.what();
        }
        return "were taken";
    };
    EXPECT_EQ(refusal({declared, {{1, {2, 2}}, {}}}),
            "m: expected input 1 to be float [4], given a file of float [2, 2]");
    EXPECT_EQ(refusal({{{2, {4}}, {}}, declared}), "m: expected input 0 to be float [4], given a file of uint8 [4]");
    EXPECT_EQ(refusal({declared}), "m: expected a file for each of 2 inputs, given 1");
}

TEST(model_file, models_that_are_none) {
    auto m = model();
    m.clear_graph();
    EXPECT_TRUE(refused("expected a model with a graph, given one without", m));
    m = model();
    m.mutable_graph()->add_node();
    EXPECT_TRUE(refused("expected a model of one node, given 2", m));
    m = model();
    m.clear_opset_import();
    EXPECT_TRUE(refused("expected the model to import an opset of domain '', given none", m));
    m = model();
    m.mutable_graph()->mutable_node(0)->set_input(1, "other");
    EXPECT_TRUE(refused("expected the node's input 'other' among the graph's, given none", m));
    m = model();
    m.mutable_graph()->mutable_input(0)->mutable_type()->clear_tensor_type();
    EXPECT_TRUE(refused("expected 'x' to be a tensor, given another type", m));
}

/// Parses; whatever else than file_error comes of it is a failure.
template <typename Parse>
bool taken(Parse &&parse, const std::string &bytes) {
    try {
        parse(bytes, "changed");
        return true;
    } catch (const file_error &e) {
        EXPECT_TRUE(std::string(e.what()).starts_with("changed: expected ")) << e.what();
        return false;
    }
}

TEST(model_file, cut_short_anywhere) {
    const auto t = tensor({2, 3}, 2, "abcdef").SerializeAsString(), m = model().SerializeAsString();
    for (std::size_t size = 0; size < t.size(); ++size)
        EXPECT_FALSE(taken(parse_tensor, t.substr(0, size))) << size;
    for (std::size_t size = 0; size < m.size(); ++size)
        taken(parse_model, m.substr(0, size)); // a model without its last field may be one
}

TEST(model_file, with_any_byte_changed) {
    const auto t = tensor({2, 3}, 2, "abcdef").SerializeAsString(), m = model().SerializeAsString();
    for (int value = 0; value < 256; ++value) {
        for (std::size_t at = 0; at < t.size(); ++at) {
            auto changed = t;
            changed[at] = static_cast<char>(value);
            if (!taken(parse_tensor, changed)) continue;
            EXPECT_EQ(parse_tensor(changed, "").data.size(), 6U) << at << ", " << value;
        }
        for (std::size_t at = 0; at < m.size(); ++at) {
            auto changed = m;
            changed[at] = static_cast<char>(value);
            taken(parse_model, changed);
        }
    }
}

TEST(model_file, that_is_not_there) {
    EXPECT_THROW(read_file("no such file"), file_error);
    EXPECT_THROW(read_file("/"), file_error);
}

} // namespace
} // namespace dynquant::test

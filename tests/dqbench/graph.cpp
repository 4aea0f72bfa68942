// dqbench's graphs in JSON become cases, are rewritten by options, and are refused when they are wrong.
#include <filesystem>
#include <fstream>

#include <gtest/gtest.h>

#include "../support/program.hpp"
#include "dqbench_support.hpp"
#include "reader.hpp"

namespace {

using namespace dqbench;
using lines = std::vector<std::string>;
namespace fs = std::filesystem;

std::string tensor(int id, const std::string &type, const std::string &shape, const std::string &more) {
    return R"({"id": )" + std::to_string(id) + R"(, "dtype": ")" + type + R"(", "shape": [)" + shape + "]" + more + "}";
}

std::string strided(int id, const std::string &type, const std::string &shape, const std::string &stride) {
    return tensor(id, type, shape, R"(, "stride": [)" + stride + R"(], "layout_type": "strided")");
}

std::string op(int id, const std::string &kind, const std::string &attrs, const std::string &inputs,
        const std::string &outputs) {
    return R"({"id": )" + std::to_string(id) + R"(, "name": "n", "kind": ")" + kind + R"(", "attrs": {)" + attrs
            + R"(}, "inputs": [)" + inputs + R"(], "outputs": [)" + outputs + "]}";
}

std::string graph(const std::string &ops) {
    return R"({"version": "3.13.1", "engine_kind": "cpu", "fpmath_mode": "strict", "graph": [)" + ops + "]}";
}

std::string attribute(const std::string &name, const std::string &type, const std::string &value) {
    return '"' + name + R"(": {"type": ")" + type + R"(", "value": )" + value + "}";
}

std::string scales(const std::string &values) {
    return attribute("scales", "f32[]", '[' + values + ']');
}

std::string zps(const std::string &values) {
    return attribute("zps", "s64[]", '[' + values + ']');
}

const std::string per_channel = attribute("qtype", "string", R"("per_channel")");
const std::string x = strided(1, "f32", "2, 3", "3, 1"), y = strided(2, "u8", "2, 3", "3, 1");
const std::string quantize = op(7, "Quantize", scales("0.5") + ", " + zps("3"), x, y);
const std::string quantized = "--op=Quantize --dt=f32:f32:s32:u8 ";

class dqbench_graph : public testing::Test {
  protected:
    std::string write(const std::string &content) const {
        std::ofstream(file) << content;
        return "--case=" + file;
    }

    /// Writes a graph to a file, and gives the jobs of these arguments.
    std::vector<job> jobs(const std::string &content, std::vector<std::string> arguments = {}) const {
        arguments.push_back(write(content));
        reader input(folder.path);
        input.read_arguments(arguments);
        return input.jobs();
    }

    lines repros(const std::string &content, const std::vector<std::string> &arguments = {}) const {
        lines all;
        for (const auto &each : jobs(content, arguments))
            all.push_back(repro(each));
        return all;
    }

    void expect_refused(const std::string &content, const std::string &message,
            const std::vector<std::string> &arguments = {}) const {
        expect_usage_error([&] { jobs(content, arguments); }, message);
    }

    /// Expects success or a usage_error that names the file.
    void expect_understood_or_refused(const std::string &content) const {
        try {
            jobs(content);
        } catch (const usage_error &e) {
            EXPECT_NE(std::string(e.what()).find(file), std::string::npos) << e.what();
        }
    }

    const dynquant::test::scratch_folder folder;
    const std::string file = (folder.path / "g.json").string();
};

TEST_F(dqbench_graph, ops_become_options_and_a_problem) {
    EXPECT_EQ(repros(graph(quantize)), (lines {quantized + "--scales=0.5 --zps=3 2x3n\"g.json:7\""}));
    EXPECT_EQ(repros(graph(op(0, "Dequantize", scales("0.1, 2") + ", " + per_channel, strided(1, "s8", "2, 2", "1, 2"),
                      strided(2, "f32", "2, 2", "4, 1")))),
            (lines {"--op=Dequantize --dt=s8:f32:undef:f32 --scales=0.1x2 --stag=strides:1x2 --dtag=strides:4x1 "
                    "--qtype=per_channel 2x2n\"g.json:0\""}));
    EXPECT_EQ(repros(graph(op(1, "DynamicQuantize", per_channel + ", " + attribute("axis", "s64", "-2"),
                      x + ", " + strided(5, "f32", "2", "1") + ", " + strided(6, "s8", "2", "1"), y))),
            (lines {"--op=DynamicQuantize --dt=f32:f32:s8:u8 --qtype=per_channel --axis=-2 2x3n\"g.json:1\""}));
    EXPECT_EQ(repros(graph(op(2, "DynamicDequantize", "", y + ", " + strided(5, "f32", "", ""), x))),
            (lines {"--op=DynamicDequantize --dt=u8:f32:undef:f32 2x3n\"g.json:2\""}));
}

TEST_F(dqbench_graph, groups) {
    const auto grouped = [&](const std::string &group, const std::string &scales_shape) {
        return graph(op(3, "DynamicDequantize",
                attribute("qtype", "string", R"("per_group")") + (group.empty() ? "" : ", ")
                        + (group.empty() ? "" : attribute("group_shape", "s64[]", '[' + group + ']')),
                strided(1, "s4", "2, 64, 8", "512, 1, 64") + ", " + tensor(5, "f16", scales_shape, "") + ", "
                        + tensor(6, "s4", scales_shape, ""),
                strided(2, "f16", "2, 64, 8", "512, 8, 1")));
    };
    EXPECT_EQ(repros(grouped("1, 32, 4", "2, 2, 2")),
            (lines {"--op=DynamicDequantize --dt=s4:f16:s4:f16 --stag=strides:512x1x64 --qtype=per_group "
                    "--group=1x32x4 2x64x8n\"g.json:3\""}));
    const std::string where = file + ": op 3 'n' (DynamicDequantize): ";
    expect_refused(grouped("1, 32, 4", "2, 2, 4"), where + "scales: expected dims 2x2x2, given 2x2x4");
    expect_refused(grouped("32, 4", "2, 2, 2"),
            where + "group_shape: expected 3 extents, as many as src has dims, given 32x4");
    expect_refused(grouped("", "2, 2, 2"), where + "group_shape: expected 3 extents, as many as src has dims, given ");
    expect_refused(
            grouped("1, 0, 4", "2, 0, 2"), where + "group_shape: expected extents of 1 or more, given 0 at dim 1");
    expect_refused(
            grouped("1, 32, -4", "2, 2, 2"), where + "group_shape: expected extents of 1 or more, given -4 at dim 2");
}

TEST_F(dqbench_graph, no_zps_and_an_empty_list_of_them_are_the_same) {
    const auto expected = lines {"--op=Quantize --dt=f32:f32:undef:u8 --scales=0.5 2x3n\"g.json:7\""};
    EXPECT_EQ(repros(graph(op(7, "Quantize", scales("0.5"), x, y))), expected);
    EXPECT_EQ(repros(graph(op(7, "Quantize", scales("0.5") + ", " + zps(""), x, y))), expected);
}

TEST_F(dqbench_graph, unknown_and_other_layouts) {
    const auto dst = [&](const std::string &shape, const std::string &more) {
        return repros(graph(op(7, "Quantize", scales("0.5"), x, tensor(2, "u8", shape, more))))[0];
    };
    const std::string plain = "--op=Quantize --dt=f32:f32:undef:u8 --scales=0.5 ", name = "2x3n\"g.json:7\"";
    EXPECT_EQ(dst("2, 3", R"(, "layout_type": "any")"), plain + "--dtag=any " + name);
    EXPECT_EQ(dst("2, 3", R"(, "layout_type": "undef", "stride": [-9223372036854775808])"), plain + name);
    EXPECT_EQ(dst("-9223372036854775808", R"(, "stride": [-9223372036854775808])"), plain + name);
    EXPECT_EQ(dst("2, 3", ""), plain + name);
}

TEST_F(dqbench_graph, options_say_the_rest) {
    EXPECT_EQ(repros(graph(quantize), {"--threads=1,2", "--op=Dequantize", "--dtag=any", "--match=threads=2"}),
            (lines {"--threads=2 " + quantized + "--scales=0.5 --zps=3 --dtag=any 2x3n\"g.json:7\""}));
}

TEST_F(dqbench_graph, fpmath_mode_is_the_files_unless_an_option_says_another) {
    auto content = graph(quantize);
    content.replace(content.find("strict"), 6, "any");
    EXPECT_EQ(jobs(content)[0].what.fpmath, fpmath_mode::any);
    EXPECT_EQ(jobs(content, {"--fpmath-mode=bf16"})[0].what.fpmath, fpmath_mode::bf16);
}

TEST_F(dqbench_graph, other_ops_are_told) {
    const auto add = [](int id) { return op(id, "Add", R"("whatever": [])", x, x); };
    reader input(folder.path);
    input.read_arguments({write(graph(add(1) + ", " + quantize + ", " + op(2, "ReLU", "", x, x) + ", " + add(3)))});
    EXPECT_EQ(input.jobs().size(), 1u);
    EXPECT_EQ(input.notes(), (lines {file + ": not of this family: Add (2), ReLU"}));
    EXPECT_EQ(input.problems(), 1u);
}

TEST_F(dqbench_graph, what_is_right_and_not_supported_is_a_job_without_a_case) {
    const auto expect_unsupported = [&](const std::string &src, const std::string &dst, const std::string &why) {
        const auto all = jobs(graph(op(7, "Quantize", scales("0.5"), src, dst)), {"--op-attrs=7:axis:0"});
        ASSERT_EQ(all.size(), 1u);
        EXPECT_EQ(all[0].unsupported, "op 7 'n' (Quantize): " + why);
        EXPECT_EQ(repro(all[0]), "--op-attrs=7:axis:0 --case=" + file);
    };
    expect_unsupported(strided(1, "boolean", "2, 3", "3, 1"), y, "data type boolean");
    expect_unsupported(x, strided(2, "s64", "2, 3", "3, 1"), "data type s64");
    expect_unsupported(x, tensor(2, "u8", "2, 3", R"(, "layout_type": "opaque")"), "tensor 2 is of layout opaque");
    expect_unsupported(tensor(1, "f32", "-9223372036854775808", ""), y,
            "the dims of src, tensor 1, are unknown: give them by --in-shapes");
}

TEST_F(dqbench_graph, in_shapes_gives_dims_and_strides) {
    const auto shaped = [&](const std::string &value) {
        return repros(graph(op(7, "Quantize", scales("0.5"), x, y)), {"--in-shapes=" + value});
    };
    const auto with = [](const std::string &rest) {
        return "--op=Quantize --dt=f32:f32:undef:u8 --scales=0.5 " + rest + "n\"g.json:7\"";
    };
    EXPECT_EQ(shaped("1:4x5x6"), (lines {with("4x5x6")}));
    EXPECT_EQ(shaped("1:*ba"), (lines {with("--stag=strides:1x2 2x3")}));
    EXPECT_EQ(shaped("1:*10x2"), (lines {with("--stag=strides:10x2 2x3")}));
    EXPECT_EQ(shaped("1:4x5*ba"), (lines {with("--stag=strides:1x4 4x5")}));
    EXPECT_EQ(shaped("1:-"), (lines {with("scalar")}));
    EXPECT_EQ(shaped("1:0"), (lines {with("0")}));
    EXPECT_EQ(shaped(",1:8"), (lines {with("2x3"), with("8")}));
}

TEST_F(dqbench_graph, new_shapes_go_from_op_to_op_and_keep_the_order_of_dims) {
    const auto middle = strided(2, "u8", "2, 3", "1, 2"), last = strided(3, "f32", "2, 3", "3, 1");
    const auto chain = graph(op(8, "Dequantize", scales("2"), middle, last) + ", "
            + op(7, "Quantize", scales("0.5"), x, middle) + ", " + op(9, "ReLU", "", last, strided(4, "f32", "2", "1"))
            + ", " + op(10, "Quantize", scales("4"), strided(4, "f32", "2", "1"), strided(5, "u8", "2", "1")));
    EXPECT_EQ(repros(chain, {"--in-shapes=1:4x5"}),
            (lines {"--op=Dequantize --dt=u8:f32:undef:f32 --scales=2 --stag=strides:1x4 4x5n\"g.json:8\"",
                    "--op=Quantize --dt=f32:f32:undef:u8 --scales=0.5 --dtag=strides:1x4 4x5n\"g.json:7\"",
                    "--op=Quantize --dt=f32:f32:undef:u8 --scales=4 2n\"g.json:10\""}));
}

TEST_F(dqbench_graph, op_attrs_gives_values) {
    EXPECT_EQ(repros(graph(quantize), {"--op-attrs=7:scales:0.25*zps:-4"}),
            (lines {quantized + "--scales=0.25 --zps=-4 2x3n\"g.json:7\""}));
    EXPECT_EQ(repros(graph(quantize), {"--op-attrs=7:qtype:per_channel*scales:1x2x3", "--in-shapes=,1:2x4"}),
            (lines {quantized + "--scales=1x2x3 --zps=3x0x0 --qtype=per_channel 2x3n\"g.json:7\"",
                    quantized + "--scales=1x2x3 --zps=3x0x0x0 --qtype=per_channel 2x4n\"g.json:7\""}));
    EXPECT_EQ(repros(graph(quantize), {"--op-attrs=7:zps:1", "--reset"}),
            (lines {quantized + "--scales=0.5 --zps=3 2x3n\"g.json:7\""}));
}

TEST_F(dqbench_graph, what_cannot_be_rewritten_is_refused) {
    expect_refused(graph(quantize), "--in-shapes: there is no input 5 in " + file, {"--in-shapes=5:2"});
    expect_refused(graph(quantize), "--in-shapes: there is no input 2 in " + file, {"--in-shapes=2:2"});
    expect_refused(graph(quantize), "--in-shapes: expected ID:VALUE, given '2x3'", {"--in-shapes=2x3"});
    expect_refused(graph(quantize), "--in-shapes: expected ID:VALUE, given '1:'", {"--in-shapes=1:"});
    expect_refused(graph(quantize), "--in-shapes: expected an id from 0 to", {"--in-shapes=-1:3"});
    expect_refused(graph(quantize), "--in-shapes: expected each id once, given 1 again", {"--in-shapes=1:3+1:4"});
    expect_refused(graph(quantize), "given 'two'", {"--in-shapes=1:two"});
    expect_refused(
            graph(quantize), "--in-shapes: expected strides or a tag such as acdb, given ''", {"--in-shapes=1:2x3*"});
    expect_refused(graph(quantize), "expected strides or a tag such as acdb, given 'any'", {"--in-shapes=1:2x3*any"});
    expect_refused(
            graph(quantize), "--in-shapes: layout acb is for rank 3, the problem is of rank 2", {"--in-shapes=1:*acb"});
    expect_refused(graph(quantize), "--op-attrs: there is no op 1 in " + file, {"--op-attrs=1:axis:0"});
    expect_refused(graph(quantize), "--op-attrs: expected NAME:VALUE, given 'axis'", {"--op-attrs=7:axis"});
    expect_refused(graph(quantize), "--op-attrs: op 7 (Quantize) has no attribute axes", {"--op-attrs=7:axes:1"});
    expect_refused(graph(quantize), "--op-attrs: qtype: expected per_tensor, per_channel or per_group, given 'x'",
            {"--op-attrs=7:qtype:x"});
    expect_refused(graph(quantize), file + ": op 7 'n' (Quantize): expected numbers, as in", {"--op-attrs=7:scales:a"});
}

TEST_F(dqbench_graph, files_that_contradict_themselves_are_refused) {
    expect_refused(graph(quantize + ", " + quantize), "/graph/1/id: expected an id of its own, given 7");
    expect_refused(graph(op(7, "Quantize", scales("1, 2"), x, y)), "op 7 'n' (Quantize): scales: expected 1, given 2");
    expect_refused(graph(op(7, "Quantize", scales("1"), x, strided(2, "u8", "3, 2", "2, 1"))),
            "dst: expected the dims of src, 2x3, given 3x2");
    expect_refused(graph(op(7, "DynamicQuantize", per_channel, x + ", " + strided(5, "f32", "2", "1"), y)),
            "op 7 'n' (DynamicQuantize): scales: expected 3, given 2");
    expect_refused(graph(op(7, "Quantize", scales("1"), strided(1, "f32", "2, 3", "1"), y)),
            "/graph/0/inputs/0/stride: expected 2 strides, as many as there are dims, given an array");
}

TEST_F(dqbench_graph, wrong_values_are_refused_with_their_place) {
    const auto with_src = [](const std::string &src) { return graph(op(7, "Quantize", scales("1"), src, y)); };
    const auto with_attributes = [](const std::string &attrs) { return graph(op(7, "Quantize", attrs, x, y)); };
    expect_refused("[]", file + ": /: expected an object, given an array");
    expect_refused("{}", file + ": /: expected the key 'graph'");
    expect_refused(graph(""), file + ": /graph: expected an op at least, given an array");
    expect_refused(graph("7"), file + ": /graph/0: expected an object, given 7");
    expect_refused(graph("{}"), file + ": /graph/0: expected the key 'id'");
    expect_refused(graph(R"({"id": -1})"), "/graph/0/id: expected an id, an integer from 0 to 2^64 - 1, given -1");
    expect_refused(graph(R"({"id": 1e3})"), "/graph/0/id: expected an id, an integer from 0 to 2^64 - 1, given 1000.0");
    expect_refused(graph(op(7, "Quantise", "", x, y)),
            "/graph/0/kind: expected a word of oneDNN Graph (did you mean 'Quantize'?), given \"Quantise\"");
    expect_refused(graph(op(7, "Quantize", "", x, y)), "/graph/0: expected an op with the attribute scales");
    expect_refused(graph(op(7, "Quantize", scales("1"), x + ", " + x, y)), "/graph/0/inputs: expected one input, src");
    expect_refused(graph(op(7, "DynamicQuantize", "", x, y)), "expected src, scales and perhaps zps, given an array");
    expect_refused(graph(op(7, "Quantize", scales("1"), x, "")), "/graph/0/outputs: expected one output, dst");
    expect_refused(with_src(strided(1, "f33", "2", "1")),
            "/graph/0/inputs/0/dtype: expected a word of oneDNN Graph (did you mean 'f32'?), given \"f33\"");
    expect_refused(with_src(strided(1, "f32", "-2", "1")), "/shape/0: expected an integer from 0 on, or");
    expect_refused(with_src(strided(1, "f32", "2.5", "1")), "/shape/0: expected an integer of 64 bits, given 2.5");
    expect_refused(with_src(strided(1, "f32", "9223372036854775808", "1")),
            "/shape/0: expected an integer of 64 bits, given 9223372036854775808");
    expect_refused(
            with_attributes(R"("axes": 3)"), "/graph/0/attrs/axes: expected an attribute that the four ops have");
    expect_refused(with_attributes(attribute("axis", "f32", "1")),
            "/graph/0/attrs/axis/type: expected \"s64\", the type of axis, given \"f32\"");
    expect_refused(
            with_attributes(scales("1e39")), "/graph/0/attrs/scales/value/0: expected a finite f32, given 1e+39");
    expect_refused(with_attributes(attribute("qtype", "string", R"("per_row")")),
            "/graph/0/attrs/qtype/value: expected a word of oneDNN Graph");
    expect_refused(with_attributes(scales("1") + ", " + zps("99999999999")), file + ": op 7 'n' (Quantize): ");
}

TEST_F(dqbench_graph, huge_tensors_are_refused_or_need_no_memory) {
    const auto sized = [](const std::string &shape, const std::string &attrs) {
        return graph(op(7, "Quantize", attrs, tensor(1, "f32", shape, ""), tensor(2, "u8", shape, "")));
    };
    const std::string most = "9223372036854775807";
    EXPECT_EQ(jobs(sized("1, " + most, per_channel + ", " + scales("1"))).size(), 1u);
    EXPECT_EQ(jobs(sized("1, " + most, per_channel + ", " + scales("1") + ", " + zps("0"))).size(), 1u);
    expect_refused(sized("1, " + most, per_channel + ", " + scales("1") + ", " + zps("1")),
            "zps: expected at most 1048576 channels, given " + most);
    expect_refused(sized(most + ", 2", scales("1")), file + ": op 7 'n' (Quantize): ");
    expect_refused(sized("1,1,1,1,1,1,1,1,1,1,1,1,1", scales("1")), file + ": op 7 'n' (Quantize): ");
}

TEST_F(dqbench_graph, files_that_cannot_be_read_are_refused) {
    expect_usage_error([&] { reader(folder.path).read_arguments({"--case=nowhere"}); },
            "JSON file 'nowhere' was not found: there is no nowhere, nor " + (folder.path / "nowhere").string());
    expect_usage_error([&] { reader(folder.path).read_arguments({"--case=" + folder.path.string()}); },
            "cannot read JSON file '" + folder.path.string() + "': it is a directory");
    expect_refused("", file + ": parse error at line 1, column 1: ");
    expect_refused("{\n \"graph\": x}", file + ": parse error at line 2, column 11: ");
    expect_refused("\"\xff\"", file + ": parse error at line 1, column 2: ");
    expect_refused("[1e999]", file + ": number overflow parsing '1e999'");
    expect_refused(std::string(1 << 20, '['), file + ": parse error at line 1, column 1048577: ");
}

TEST_F(dqbench_graph, endless_files_are_refused) {
    expect_usage_error([&] { reader(folder.path).read_arguments({"--case=/dev/zero"}); },
            "cannot read JSON file '/dev/zero': expected at most 67108864 bytes");
}

TEST_F(dqbench_graph, nesting_may_be_deep) {
    constexpr int depth = 1 << 20;
    const auto nested = std::string(depth, '[') + std::string(depth, ']');
    expect_refused(R"({"graph": )" + nested + "}", file + ": /graph/0: expected an object, given an array");
    EXPECT_EQ(jobs(R"({"unknown": )" + nested + ", " + graph(quantize).substr(1)).size(), 1u);
}

TEST_F(dqbench_graph, every_truncation_is_refused) {
    const auto whole = graph(quantize);
    for (std::size_t length = 0; length < whole.size(); ++length)
        expect_refused(whole.substr(0, length), file + ": parse error at line 1");
}

TEST_F(dqbench_graph, every_changed_byte_is_understood_or_refused) {
    const auto whole = graph(quantize);
    for (std::size_t i = 0; i < whole.size(); ++i)
        for (const char c : {'0', '9', '-', '"', '[', '}', 'x', '\0', '\xff'}) {
            auto changed = whole;
            changed[i] = c;
            expect_understood_or_refused(changed);
        }
}

} // namespace

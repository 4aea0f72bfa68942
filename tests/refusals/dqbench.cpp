// dqbench refuses what it cannot understand: options, problems, batch files, graphs in JSON; and names the place.
#include "dqbench/dqbench_support.hpp"
#include "layout.hpp"
#include "options.hpp"
#include "perf_template.hpp"
#include "problem.hpp"

namespace {

using namespace dqbench;
using namespace dqbench::tests;

using dqbench_reader_refusals = dqbench_reader;
using dqbench_graph_refusals = dqbench_graph;

TEST(dqbench_refusals, layout_refuses_what_is_no_permutation) {
    for (const auto *text : {"", "aab", "ac", "xbx", "aBx16b", "nchw", "Any", "stride:1", "abcdefghijklm"})
        expect_usage_error([&] { layout::parse(text); }, std::string("given '") + text + "'");
    expect_usage_error([] { layout::parse("strides:4x-1"); }, "given '-1'");
    expect_usage_error([] { layout::parse("strides:4x1b"); }, "given '1b'");
}

TEST(dqbench_refusals, layout_refuses_another_rank) {
    expect_usage_error(
            [] {
                layout::parse("acdb").strides_for({2, 3});
            },
            "layout acdb is for rank 4, the problem is of rank 2");
    expect_usage_error([] { layout::parse("strides:3").strides_for({2, 3}); }, "layout strides:3 is for rank 1");
    expect_usage_error([] { layout::parse("any").strides_for({2, 3, 4}); }, "given any");
    expect_usage_error([] { layout::parse("abx").strides_for({0, INT64_MAX, 3}); }, "63 bits");
}

TEST(dqbench_refusals, problem_refuses_bad_numbers_and_names) {
    const auto refused = [](const std::string &text, const std::string &message) {
        expect_usage_error([&] { parse_problem(text); }, "bad problem '" + text + "'");
        expect_usage_error([&] { parse_problem(text); }, message);
    };
    refused("", "given ''");
    refused("8x", "given ''");
    refused("x8", "given ''");
    refused("8xx8", "given ''");
    refused("-5x3", "given '-5'");
    refused("+5", "given '+5'");
    refused("5 ", "given '5 '");
    refused("5.0", "given '5.0'");
    refused("0x10h", "given '10h'");
    refused("9223372036854775808", "from 0 to 9223372036854775807");
    refused("4294967296x4294967296", "63 bits");
    refused("1x1x1x1x1x1x1x1x1x1x1x1x1", "given rank 13");
    refused("3n", "name");
    refused("3n\"\"", "name");
    refused("3n\"a b\"", "name");
    refused("3n$HOME", "name");
}

TEST(dqbench_refusals, options_refuse_bad_values_and_keep_the_state) {
    const problem prb {{2, 3}, "name"};
    settings s;
    const auto refused = [&](const std::string &name, const std::string &value, const std::string &message) {
        expect_usage_error([&] { s.set(*find_option(name), value); }, message);
    };
    refused("op", "Quantise", "did you mean 'Quantize'?");
    refused("mode", "X", "expected L, R, C, P, CP or F, given 'X'");
    refused("mode", "C,P", "given 'C,P'"); // not a list
    refused("qtype", "per_channel,", "expected per_tensor, per_channel or per_group, given ''");
    refused("dt", "f32:f32:s8", "expected SRC:SCALES:ZPS:DST");
    refused("dt", "f32:f32:undef:u9", "did you mean 'u8'?");
    refused("dt", "undef:f32:undef:u8", "given 'undef'");
    refused("kernel", "nativ", "did you mean 'native'?");
    refused("isa", "sse", "expected auto, scalar, avx2 or avx512, given 'sse'");
    refused("kernel", "limit", "expected auto, native, onednn or reference, given 'limit'");
    refused("peer", "onednn", "expected flat, onednn_graph, onednn_reorder or xnnpack, given 'onednn'");
    refused("peer", "xnnpak", "did you mean 'xnnpack'?");
    refused("peer", "flat,", "given ''");
    refused("peer", "flat,none", "expected none alone, given 'flat,none'");
    refused("peer", "flat,xnnpack,flat", "expected each peer once, given 'flat,xnnpack,flat'");
    refused("api", "grph", "did you mean 'graph'?");
    refused("cache", "hot", "expected warm or cold, given 'hot'");
    refused("scales", "absmin", "did you mean 'absmax'?");
    refused("scales", "mx_flor", "did you mean 'mx_floor'?");
    refused("scales", "", "given ''");
    refused("offset", "64", "expected an integer from 0 to 63, given '64'");
    refused("offset", "-1", "given '-1'");
    refused("threads", "-1", "from 0 to 1024, given '-1'");
    refused("threads", "1,2000", "given '2000'");
    refused("axis", "one", "given 'one'");
    refused("axis", "9223372036854775808", "given '9223372036854775808'");
    refused("stag", "any", "dst only");
    refused("max-ms-per-prb", "0", "from 1 to 60000");
    refused("max-ms-per-prb", "nan", "given 'nan'");
    refused("max-ms-per-prb", "1e", "given '1e'");
    refused("fix-times-per-prb", "1e3", "given '1e3'");
    EXPECT_EQ(s.cases_for(prb).at(0), (test_case {.prb = prb}));
}

TEST(dqbench_refusals, perf_template_refuses_unknown_and_open_fields) {
    expect_usage_error([] { perf_template::parse("%tme%"); }, "unknown field '%tme%' (did you mean 'time'?)");
    expect_usage_error([] { perf_template::parse("a%time"); }, "expected a % after '%time'");
    expect_usage_error([] { perf_template::parse("%ratio:xnpack%"); }, "did you mean 'xnnpack'?");
    expect_usage_error([] { perf_template::parse("%peertime:%"); }, "given ''");
    expect_usage_error([] { perf_template::parse("%time:xnnpack%"); },
            "expected a peer after %peertime: or %ratio: only, given '%time:xnnpack%'");
    expect_usage_error([] { perf_template::parse("%%"); }, "unknown field '%%'");
}

TEST_F(dqbench_reader_refusals, unknown_options_get_the_nearest_spelling) {
    expect_refused({"--qtpye=per_tensor"}, "unknown option '--qtpye' (did you mean '--qtype'?)");
    expect_refused({"--bach=x"}, "did you mean '--batch'?");
    expect_refused({"-mode=C"}, "unknown option '-mode' (did you mean '--mode'?)");
    expect_refused({"--"}, "unknown option '--'");
    expect_refused({"-"}, "unknown option '-'");
    expect_refused({"--=3"}, "unknown option '--'");
}

TEST_F(dqbench_reader_refusals, a_value_is_there_when_and_only_when_it_is_wanted) {
    expect_refused({"--mode"}, "--mode: expected a value, as in --mode=VALUE");
    expect_refused({"--batch"}, "--batch: expected a value");
    expect_refused({"--reset=1"}, "--reset: expected no value");
}

TEST_F(dqbench_reader_refusals, bad_values_name_the_option) {
    expect_refused({"--threads=many"}, "--threads: expected an integer from 0 to 1024, given 'many'");
    expect_refused({"--match=("}, "--match: expected a regular expression, given '('");
    expect_refused({"--match=" + std::string(1000, '(')}, "--match: expected a regular expression, given '((");
    for (const char each : {'a', '('})
        for (const std::size_t count : {1001U, 30000U, 1000000U})
            expect_refused({"--match=" + std::string(count, each)},
                    "--match: expected a regular expression of at most 1000 characters, given one of "
                            + std::to_string(count));
    expect_refused({"--perf-template=%tiem%"}, "--perf-template: unknown field '%tiem%' (did you mean 'time'?)");
}

TEST_F(dqbench_reader_refusals, errors_in_batch_files_name_file_and_line) {
    const auto inner = write("inner", "# comment\n3\n\n3x-1\n");
    const auto outer = write("outer", "--batch=inner");
    expect_refused({"--batch=" + outer}, inner + ":4: bad problem '3x-1'");
    const auto missing = write("missing", "\n--batch=nowhere");
    expect_refused({"--batch=" + missing},
            missing + ":2: batch file 'nowhere' was not found: there is no " + (folder / "nowhere").string() + ", nor "
                    + (folder / "inputs/nowhere").string());
    const auto list = write("list", "--stag=abx,\n\n  axB 3");
    expect_refused({"--batch=" + list}, list + ":1: --stag: ");
}

TEST_F(dqbench_reader_refusals, unreadable_files_are_refused) {
    expect_refused(
            {"--batch=" + folder.string()}, "cannot read batch file '" + folder.string() + "': it is a directory");
    expect_refused({"--batch=nowhere"}, "batch file 'nowhere' was not found");
    expect_refused({"--batch="}, "cannot read batch file");
}

TEST_F(dqbench_reader_refusals, batch_files_that_include_themselves_are_refused) {
    const auto self = write("self", "1\n--batch=self");
    expect_refused({"--batch=" + self}, self + ":2: batch file '" + self + "' includes itself");
    const auto a = write("a", "--batch=b");
    const auto b = write("b", "\n\n--batch=./a");
    expect_refused({"--batch=" + a}, b + ":3: batch file '" + a + "' includes itself");
}

TEST_F(dqbench_graph_refusals, what_cannot_be_rewritten_is_refused) {
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

TEST_F(dqbench_graph_refusals, files_that_contradict_themselves_are_refused) {
    expect_refused(graph(quantize + ", " + quantize), "/graph/1/id: expected an id of its own, given 7");
    expect_refused(graph(op(7, "Quantize", scales("1, 2"), x, y)), "op 7 'n' (Quantize): scales: expected 1, given 2");
    expect_refused(graph(op(7, "Quantize", scales("1"), x, strided(2, "u8", "3, 2", "2, 1"))),
            "dst: expected the dims of src, 2x3, given 3x2");
    expect_refused(graph(op(7, "DynamicQuantize", per_channel, x + ", " + strided(5, "f32", "2", "1"), y)),
            "op 7 'n' (DynamicQuantize): scales: expected 3, given 2");
    expect_refused(graph(op(7, "Quantize", scales("1"), strided(1, "f32", "2, 3", "1"), y)),
            "/graph/0/inputs/0/stride: expected 2 strides, as many as there are dims, given an array");
}

TEST_F(dqbench_graph_refusals, wrong_values_are_refused_with_their_place) {
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

TEST_F(dqbench_graph_refusals, huge_tensors_are_refused_or_need_no_memory) {
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

TEST_F(dqbench_graph_refusals, files_that_cannot_be_read_are_refused) {
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

TEST_F(dqbench_graph_refusals, endless_files_are_refused) {
    expect_usage_error([&] { reader(folder.path).read_arguments({"--case=/dev/zero"}); },
            "cannot read JSON file '/dev/zero': expected at most 67108864 bytes");
}

TEST_F(dqbench_graph_refusals, nesting_may_be_deep) {
    constexpr int depth = 1 << 20;
    const auto nested = std::string(depth, '[') + std::string(depth, ']');
    expect_refused(R"({"graph": )" + nested + "}", file + ": /graph/0: expected an object, given an array");
    EXPECT_EQ(jobs(R"({"unknown": )" + nested + ", " + graph(quantize).substr(1)).size(), 1u);
}

TEST_F(dqbench_graph_refusals, every_truncation_is_refused) {
    const auto whole = graph(quantize);
    for (std::size_t length = 0; length < whole.size(); ++length)
        expect_refused(whole.substr(0, length), file + ": parse error at line 1");
}

TEST_F(dqbench_graph_refusals, every_changed_byte_is_understood_or_refused) {
    const auto whole = graph(quantize);
    for (std::size_t i = 0; i < whole.size(); ++i)
        for (const char c : {'0', '9', '-', '"', '[', '}', 'x', '\0', '\xff'}) {
            auto changed = whole;
            changed[i] = c;
            expect_understood_or_refused(changed);
        }
}

} // namespace

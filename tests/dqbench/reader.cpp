// dqbench reads its command line and batch files. Graphs in JSON become cases and are rewritten by options.
#include <unistd.h>

#include "dqbench_support.hpp"

namespace {

using namespace dqbench;
using namespace dqbench::tests;

const std::string plain = "--op=DynamicQuantize --dt=f32:f32:undef:s8 ";
const std::string axb = plain + "--stag=axb ";

TEST_F(dqbench_reader, options_hold_for_the_problems_after_them) {
    EXPECT_EQ(read({"3", "--stag=axb", "4", "5", "--reset", "6"}),
            (lines {plain + "3", axb + "4", axb + "5", plain + "6"}));
}

TEST_F(dqbench_reader, batch_file_shares_the_state) {
    const auto file = write("batch", "4 --stag=axb 5\n");
    EXPECT_EQ(read({"--dtag=any", "--batch=" + file, "6"}),
            (lines {plain + "--dtag=any 4", axb + "--dtag=any 5", axb + "--dtag=any 6"}));
}

TEST_F(dqbench_reader, a_batch_file_may_be_a_pipe) {
    int ends[2];
    ASSERT_EQ(::pipe(ends), 0);
    ASSERT_EQ(::write(ends[1], "4 5", 3), 3);
    ::close(ends[1]);
    EXPECT_EQ(read({"--batch=/proc/self/fd/" + std::to_string(ends[0])}), (lines {plain + "4", plain + "5"}));
    ::close(ends[0]);
}

TEST_F(dqbench_reader, batch_file_has_comments_and_continued_lists) {
    const auto file =
            write("batch", "# 1 --nonsense\n\n  2 # 3\n--stag=abx, \\\n  axb\t4\n--dtag=abx,\n   # more\n   any 5");
    EXPECT_EQ(read({"--batch=" + file}),
            (lines {plain + "2", plain + "4", axb + "4", plain + "5", plain + "--dtag=any 5", axb + "5",
                    axb + "--dtag=any 5"}));
}

/// A backslash joins words as in benchdnn, also with comments between them.
TEST_F(dqbench_reader, a_word_that_ends_in_a_backslash_continues) {
    const auto file = write("batch", "--stag=\\\n# comment,\\\n  abx,\\\n axb 4\n--dtag=a\\\n\n  ny 5\\");
    EXPECT_EQ(
            read({"--batch=" + file}), (lines {plain + "4", axb + "4", plain + "--dtag=any 5", axb + "--dtag=any 5"}));
}

TEST_F(dqbench_reader, batch_files_are_found_beside_the_including_file_and_among_the_inputs) {
    write("deep/inner", "1");
    write("inputs/inner", "2");
    write("inputs/shared", "3");
    const auto outer = write("deep/outer", "--batch=inner --batch=shared");
    EXPECT_EQ(read({"--batch=" + outer, "--batch=inner"}), (lines {plain + "1", plain + "3", plain + "2"}));
}

/// benchdnn's documentation writes inputs/ before its folders.
TEST_F(dqbench_reader, files_are_searched_without_inputs_before_them_and_last_among_dqbenchs_own) {
    write("inputs/reorder/all", "1");
    write("own/all", "2");
    write("own/smoke", "3");
    const auto repros = [&](const lines &arguments) {
        reader input(folder / "inputs", folder / "own");
        input.read_arguments(arguments);
        lines all;
        for (const auto &each : input.jobs())
            all.push_back(repro(each));
        return all;
    };
    EXPECT_EQ(repros({"--batch=inputs/reorder/all", "--batch=smoke"}), (lines {plain + "1", plain + "3"}));
    EXPECT_EQ(repros({"--reorder", "--ddt=s8", "--batch=all"}), (lines {plain + "--scales=1 1"}));
    expect_usage_error([&] { repros({"--batch=smoek"}); },
            "there is no smoek, nor " + (folder / "inputs/smoek").string() + ", nor " + (folder / "own/smoek").string()
                    + " (did you mean 'smoke'?)");
}

TEST_F(dqbench_reader, one_file_may_be_included_twice) {
    write("inputs/shapes", "1 2");
    write("inputs/all", "--batch=shapes --stag=axb --batch=shapes");
    EXPECT_EQ(read({"--batch=all"}), (lines {plain + "1", plain + "2", axb + "1", axb + "2"}));
}

TEST_F(dqbench_reader, match_lets_cases_through) {
    EXPECT_EQ(read({"--match=axb.*4", "--stag=abx,axb", "4", "5"}), (lines {axb + "4"}));
    EXPECT_EQ(read({"--match=resnet", "4n\"resnet:fc\"", "5"}), (lines {plain + "4n\"resnet:fc\""}));
}

/// The longest ones: letters, groups within groups, loops within loops, alternatives.
TEST_F(dqbench_reader, match_takes_long_expressions) {
    const auto times = [](std::size_t count, const std::string &text) {
        std::string all;
        for (std::size_t i = 0; i < count; ++i)
            all += text;
        return all;
    };
    const auto matches = [&](const std::string &expression) {
        EXPECT_LE(expression.size(), 1000U);
        return read({"--match=" + expression, "4"}).size() == 1;
    };
    EXPECT_TRUE(matches(times(994, "|") + "Dynami"));
    EXPECT_FALSE(matches(times(1000, "a")));
    EXPECT_TRUE(matches(times(499, "(") + "op" + times(499, ")")));
    EXPECT_TRUE(matches(times(332, "(") + "." + times(332, ")*") + "="));
    EXPECT_FALSE(matches(times(332, "(") + "." + times(332, ")*") + "!"));
    EXPECT_TRUE(matches(times(249, "a|b|") + "op"));
    EXPECT_TRUE(matches(times(499, "a*") + "4$"));
    EXPECT_TRUE(matches("(a?){1000}4$"));
    EXPECT_FALSE(matches("(.|.)*!"));
}

/// dqbench calls a case's name what follows "n".
TEST_F(dqbench_reader, match_searches_long_lines) {
    const auto line = "4n\"" + std::string(2000, 'a') + '"';
    EXPECT_EQ(read({"--match=(.|.)*4n", line}), (lines {plain + line}));
    EXPECT_EQ(read({"--match=(.|a)*x$", line}), lines {});
}

TEST_F(dqbench_reader, counts_problems_and_sees_help) {
    reader input(folder);
    input.read_arguments({"--match=nothing", "4", "5", "--help"});
    EXPECT_EQ(input.jobs().size(), 0u);
    EXPECT_EQ(input.problems(), 2u);
    EXPECT_TRUE(input.help());
}

/// An option holds for the problems after it, so that the last ones may be lost.
TEST_F(dqbench_reader, tells_what_has_no_effect) {
    const auto notes = [&](const lines &arguments) {
        reader input(folder);
        input.read_arguments(arguments);
        return input.notes();
    };
    EXPECT_EQ(notes({"--mode=L", "4", "--mode=C", "5", "-v1", "--start=1", "--summary=impl"}), lines {});
    EXPECT_EQ(notes({"--isa=scalar", "--dtag=any", "4", "--isa=auto", "--dtag="}), lines {});
    EXPECT_EQ(notes({"4", "--mode=L", "-v1", "--max-ms-per-prb=100"}),
            (lines {"no problem is after --mode=L --max-ms-per-prb=100: no effect, as an option holds for the problems "
                    "after it"}));
    const auto file = write("batch", "4 --reorder --ddt=s8 --match=x");
    EXPECT_EQ(notes({"--batch=" + file}),
            (lines {"no problem is after --ddt=s8 --match=x: no effect, as an option holds for the problems after "
                    "it"}));
    EXPECT_EQ(notes({"--match=nothing", "4"}), (lines {"no case matched --match=nothing"}));
    EXPECT_EQ(notes({"--match=4", "4", "5"}), lines {});
}

TEST_F(dqbench_reader, perf_template_stays_over_reset) {
    reader input(folder);
    input.read_arguments({"--perf-template=%op%", "--reset", "4", "--perf-template=%desc%", "5"});
    ASSERT_EQ(input.jobs().size(), 2u);
    EXPECT_EQ(input.jobs()[0].report.text(), "%op%");
    EXPECT_EQ(input.jobs()[1].report.text(), "%desc%");
}

// ---- Graphs in JSON ----------------------------------------------------------------------------------------

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

/// benchdnn's line of a graph has --case.
TEST_F(dqbench_graph, a_pattern_is_searched_in_the_line_of_the_graph) {
    const auto expected = repros(graph(quantize));
    EXPECT_EQ(expected.size(), 1U);
    EXPECT_EQ(repros(graph(quantize), {"--match=case=.*g[.]json$"}), expected);
    EXPECT_EQ(repros(graph(quantize), {"--match=^--op=Quantize"}), expected);
    EXPECT_EQ(repros(graph(quantize), {"--op-attrs=7:zps:3", "--match=op-attrs=7:zps:3 "}), expected);
    EXPECT_EQ(repros(graph(quantize), {"--match=h[.]json"}), lines {});
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
    expect_refused(grouped("", "2, 2, 2"),
            where + "group_shape: expected 3 extents, as many as src has dims, given none; add *group_shape:1x1x8");
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
    const std::string usual = "--op=Quantize --dt=f32:f32:undef:u8 --scales=0.5 ", name = "2x3n\"g.json:7\"";
    EXPECT_EQ(dst("2, 3", R"(, "layout_type": "any")"), usual + "--dtag=any " + name);
    EXPECT_EQ(dst("2, 3", R"(, "layout_type": "undef", "stride": [-9223372036854775808])"), usual + name);
    EXPECT_EQ(dst("-9223372036854775808", R"(, "stride": [-9223372036854775808])"), usual + name);
    EXPECT_EQ(dst("2, 3", ""), usual + name);
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
    reader input(folder);
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

} // namespace

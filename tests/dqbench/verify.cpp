// The parts of `dqbench verify`: digests, the table of them, and which statements there are.
#include <algorithm>
#include <map>
#include <regex>
#include <set>
#include <span>

#include <gtest/gtest.h>

#include "elements/table.hpp"
#include "quantization/named_rules.hpp"
#include "quantization/text.hpp"
#include "support/program.hpp"
#include "verify/digest.hpp"
#include "verify/group.hpp"
#include "verify/table.hpp"

namespace {

using namespace dqbench::verify;
using dynquant::concat, dynquant::data_type;

// ---- Digests ---------------------------------------------------------------------------------------------

/// A code after its NaN became canonical.
template <typename Code>
Code canonical(data_type type, Code code) {
    make_nan_canonical(type, std::as_writable_bytes(std::span(&code, 1)));
    return code;
}

/// Each code of a float type of IEEE 754's form stays, or is a NaN and becomes `nan`.
template <typename Code>
void expect_canonical_ieee(data_type type, int fraction_bits, Code nan) {
    const unsigned sign = 1U << (8 * sizeof(Code) - 1), infinity = (sign - 1) >> fraction_bits << fraction_bits;
    for (unsigned code = 0; code < 2 * sign; ++code) {
        const bool is_nan = (code & infinity) == infinity && (code & (sign - 1)) != infinity;
        ASSERT_EQ(canonical(type, static_cast<Code>(code)), is_nan ? nan : static_cast<Code>(code)) << code;
    }
}

TEST(dqbench_verify, nan_of_ieee_types_is_the_positive_quiet_one_without_payload) {
    expect_canonical_ieee<std::uint16_t>(data_type::f16, 10, 0x7e00);
    expect_canonical_ieee<std::uint16_t>(data_type::bf16, 7, 0x7fc0);
    expect_canonical_ieee<std::uint8_t>(data_type::f8_e5m2, 2, 0x7e);
    for (const std::uint32_t nan : {0x7f800001U, 0xff800001U, 0x7fc00000U, 0xffffffffU, 0x7fabcdefU})
        EXPECT_EQ(canonical(data_type::f32, nan), 0x7fc00000U) << nan;
    for (const std::uint32_t other : {0U, 0x80000000U, 1U, 0x7f800000U, 0xff800000U, 0x7f7fffffU, 0xff7fffffU})
        EXPECT_EQ(canonical(data_type::f32, other), other);
}

/// OFP8: the code with all bits set but the sign, which may have either value. The types with one NaN, or none, and
/// integers stay as they are.
TEST(dqbench_verify, other_types_stay_but_for_the_sign_of_the_nan_of_e4m3) {
    for (const auto &type : dynquant::data_types) {
        if (type.type == data_type::f8_e5m2 || type.bits > 8) continue;
        for (unsigned code = 0; code < 256; ++code) {
            const auto expected = type.type == data_type::f8_e4m3 && code == 0xff ? 0x7f : code;
            ASSERT_EQ(canonical(type.type, static_cast<std::uint8_t>(code)), expected) << type.name;
        }
    }
    for (const auto type : {data_type::s16, data_type::u16})
        for (unsigned code = 0; code < 65536; ++code)
            ASSERT_EQ(canonical(type, static_cast<std::uint16_t>(code)), code);
    for (const auto type : {data_type::s32, data_type::u32})
        EXPECT_EQ(canonical(type, 0xffffffffU), 0xffffffffU);
}

TEST(dqbench_verify, every_element_of_a_buffer_becomes_canonical) {
    std::uint16_t several[] = {0x7e01, 0x3c00, 0xfc01, 0xffff, 0xfc00};
    make_nan_canonical(data_type::f16, std::as_writable_bytes(std::span(several)));
    EXPECT_EQ(std::vector(std::begin(several), std::end(several)),
            (std::vector<std::uint16_t> {0x7e00, 0x3c00, 0x7e00, 0x7e00, 0xfc00}));
}

digest digest_of(std::span<unsigned char> bytes) {
    hasher all;
    all.add(data_type::u8, std::as_writable_bytes(bytes));
    return all.value();
}

/// The input and the digests of xxHash's own test, cli/xsum_sanity_check.c and tests/sanity_test_vectors.h:
/// XXH3_64bits, seed 0.
TEST(dqbench_verify, digests_are_those_that_xxhash_publishes) {
    std::vector<unsigned char> bytes;
    std::uint64_t state = 2654435761U;
    for (int i = 0; i < 2367; ++i) {
        bytes.push_back(static_cast<unsigned char>(state >> 56));
        state *= 11400714785074694797U;
    }
    const std::pair<std::size_t, digest> published[] = {{0, 0x2d06800538d394c2}, {1, 0xc44bdff4074eecdb},
            {6, 0x27b56a84cd2d7325}, {12, 0xa713daf0dfbb77e7}, {24, 0xa3fe70bf9d3510eb}, {48, 0x397da259ecba1f11},
            {80, 0xbcdefbbb2c47c90a}, {195, 0xcd94217ee362ec3a}, {403, 0xcdeb804d65c6dea4}, {512, 0x617e49599013cb6b},
            {2048, 0xdd59e2c3a5f038e0}, {2240, 0x6e73a90539cf2948}, {2367, 0xcb37aeb9e5d361ed}};
    for (const auto &[count, expected] : published)
        EXPECT_EQ(to_string(digest_of(std::span(bytes).first(count))), to_string(expected)) << count;
}

TEST(dqbench_verify, buffers_are_hashed_one_after_the_other_as_canonical_bytes) {
    unsigned char bytes[] {8, 7, 6, 5, 4, 3, 2, 1, 0x00, 0x7e};
    std::uint16_t nan = 0xfc01; // of f16: becomes 0x7e00, the low byte first
    hasher parts;
    parts.add(digest {0x0102030405060708});
    parts.add(data_type::f16, std::as_writable_bytes(std::span(&nan, 1)));
    EXPECT_EQ(parts.value(), digest_of(bytes));
}

TEST(dqbench_verify, digest_is_16_digits) {
    EXPECT_EQ(to_string(0x2d06800538d394c2), "2d06800538d394c2");
    EXPECT_EQ(to_string(10), "000000000000000a");
}

// ---- The table -------------------------------------------------------------------------------------------

TEST(dqbench_verify, row_has_the_digest_of_digests_and_their_highest_bytes) {
    unsigned char both[] {1, 0, 0, 0, 0, 0, 0, 0xab, 2, 0, 0, 0, 0, 0, 0, 0x0c};
    const auto row = row_of({0xab00000000000001, 0x0c00000000000002});
    EXPECT_EQ(row.all, digest_of(both));
    EXPECT_EQ(row.bytes, (std::vector<std::uint8_t> {0xab, 0x0c}));
    EXPECT_EQ(row_of({}).all, 0x2d06800538d394c2U);
}

TEST(dqbench_verify, lines_are_parsed_as_they_are_written) {
    const row some {0x00ff00ff12345678, {0x00, 0xa9, 0xff}}, none {0xffffffffffffffff, {}};
    EXPECT_EQ(line_of("a/b->c", some), "a/b->c 00ff00ff12345678 00a9ff");
    EXPECT_EQ(parse_table("\na/b->c 00ff00ff12345678 00a9ff\n\nlong ffffffffffffffff \n"),
            (std::map<std::string, row> {{"a/b->c", some}, {"long", none}}));
    EXPECT_EQ(parse_table(line_of("long", none)), (std::map<std::string, row> {{"long", none}}));
    EXPECT_TRUE(parse_table("").empty());
}

void expect_wrong(const std::string &lines, const std::string &message) {
    EXPECT_EQ(dynquant::test::message_of<std::runtime_error>([&] { parse_table(lines); }),
            "table of verify: expected " + message)
            << lines;
}

TEST(dqbench_verify, wrong_lines_are_refused) {
    for (const std::string line : {"a", "a 00ff00ff1234567", "a 00ff00ff123456789", "a 00ff00ff1234567g",
                 "a -0ff00ff12345678", "a 0x0ff00ff1234567", "a 00ff00ff12345678 0", "a 00ff00ff12345678 0g",
                 "a 00ff00ff12345678 -1", "a 00ff00ff12345678 00 00"})
        expect_wrong("b 0123456789abcdef 00\n" + line,
                "NAME, 16 hexadecimal digits and 2 for each statement, given '" + line + "'");
    expect_wrong("a 0123456789abcdef 00\na 0123456789abcdef 00", "'a' once, given it twice");
}

// ---- The statements --------------------------------------------------------------------------------------

/// Making them takes a moment.
const std::vector<group> &operators() {
    static const auto groups = operator_groups();
    return groups;
}

std::vector<group> all_groups() {
    std::vector<group> all;
    for (auto make : {operator_groups, layer_groups, float_groups, long_operator_groups})
        std::ranges::move(make(), std::back_inserter(all));
    return all;
}

TEST(dqbench_verify, names_are_unique_and_of_one_word) {
    std::set<std::string> groups, cells;
    for (const auto &g : all_groups()) {
        EXPECT_TRUE(groups.insert(g.name).second) << g.name;
        EXPECT_FALSE(g.cells.empty()) << g.name;
        for (const auto &c : g.cells) {
            EXPECT_TRUE(cells.insert(c.name).second) << c.name;
            EXPECT_EQ(c.name.find_first_of(" \n"), std::string::npos) << c.name;
            EXPECT_TRUE(c.name.starts_with(g.name)) << c.name;
            EXPECT_FALSE(c.statements.empty()) << c.name;
            for (const auto &s : c.statements)
                ASSERT_GT(s.results, 0) << s.line;
        }
    }
}

TEST(dqbench_verify, the_table_has_each_cell_with_a_byte_for_each_statement) {
    for (auto make : {operator_groups, layer_groups})
        for (const auto &g : make())
            for (const auto &c : g.cells) {
                const auto found = committed_table().find(c.name);
                ASSERT_NE(found, committed_table().end()) << c.name;
                EXPECT_EQ(found->second.bytes.size(), c.statements.size()) << c.name;
            }
}

/// src, scales, zero points and dst of --dt.
struct places {
    std::set<std::string> src, scales, zps, dst;
};

/// By operator and rule: strict.quantize, onnx.dequantize, computed.nvfp4.
std::map<std::string, places> types_of_operators() {
    std::map<std::string, places> found;
    const std::regex types("--dt=([a-z0-9_]+):([a-z0-9_]+):([a-z0-9_]+):([a-z0-9_]+)");
    for (const auto &g : operators())
        for (const auto &c : g.cells)
            for (const auto &s : c.statements) {
                std::smatch match;
                EXPECT_TRUE(std::regex_search(s.line, match, types)) << s.line;
                auto &to = found[g.name];
                to.src.insert(match[1]);
                to.scales.insert(match[2]);
                to.zps.insert(match[3]);
                to.dst.insert(match[4]);
                EXPECT_EQ(c.name, concat(g.name, '/', match[1].str(), "->", match[4].str()));
            }
    return found;
}

/// docs/reference.md, "Data types", and docs/onnx_operators.md.
TEST(dqbench_verify, every_data_type_is_in_each_of_its_places) {
    using types = std::set<std::string>;
    const types reals {"f32", "f16", "bf16"}, strict_codes {"s8", "u8", "s4", "u4", "f8_e4m3", "f8_e5m2"},
            strict_zps {"undef", "s32", "s8", "u8", "s4", "u4"};
    const types codes {"s32", "s8", "u8", "f16", "bf16", "s4", "u4", "f8_e4m3", "f8_e5m2", "s16", "u16", "u32", "s2",
            "u2", "f4_e2m1", "f6_e2m3", "f6_e3m2", "f8_e4m3fnuz", "f8_e5m2fnuz"};
    auto of = types_of_operators();
    EXPECT_EQ(of["strict.quantize"].src, reals);
    EXPECT_EQ(of["strict.quantize"].scales, reals);
    EXPECT_EQ(of["strict.quantize"].zps, strict_zps);
    EXPECT_EQ(of["strict.quantize"].dst, strict_codes);
    EXPECT_EQ(of["strict.dequantize"].src, strict_codes);
    EXPECT_EQ(of["strict.dequantize"].scales, reals);
    EXPECT_EQ(of["strict.dequantize"].zps, strict_zps);
    EXPECT_EQ(of["strict.dequantize"].dst, reals);
    EXPECT_EQ(of["onnx.quantize"].src, (types {"f32", "f16", "bf16", "s32"}));
    EXPECT_EQ(of["onnx.quantize"].dst, codes);
    EXPECT_EQ(of["onnx.dequantize"].src, codes);
    EXPECT_EQ(of["onnx.dequantize"].dst, reals);
    for (const auto *name : {"onnx.quantize", "onnx.dequantize"}) {
        auto zps = codes;
        zps.insert("undef");
        EXPECT_EQ(of[name].zps, zps) << name;
    }
    types everywhere;
    for (const auto &[name, found] : of)
        for (const auto &place : {found.src, found.scales, found.zps, found.dst})
            everywhere.insert(place.begin(), place.end());
    for (const auto &type : dynquant::data_types)
        EXPECT_TRUE(everywhere.contains(type.name)) << type.name;
}

TEST(dqbench_verify, every_named_rule_is_a_group) {
    auto of = types_of_operators();
    for (const auto &rule : dynquant::named_rules())
        EXPECT_TRUE(of.contains(concat("computed.", rule.name))) << rule.name;
}

/// A line without --qtype has one scale for all.
TEST(dqbench_verify, every_cell_has_every_granularity_and_layout) {
    const std::regex qtype("--qtype=([a-z_]+)"), layout("--stag=([a-z]+)");
    for (const auto &g : operators())
        for (const auto &c : g.cells) {
            std::set<std::string> granularities, layouts;
            for (const auto &s : c.statements) {
                std::smatch match;
                granularities.insert(std::regex_search(s.line, match, qtype) ? match[1].str() : "per_tensor");
                layouts.insert(std::regex_search(s.line, match, layout) ? match[1].str() : "abx");
            }
            EXPECT_EQ(granularities, (std::set<std::string> {"per_channel", "per_group", "per_tensor"})) << c.name;
            EXPECT_EQ(layouts, (std::set<std::string> {"abcd", "abx", "acdb", "strides"})) << c.name;
        }
}

/// The statement depends on its draw alone: the reference gives the same digest twice, and after another way.
TEST(dqbench_verify, digests_of_a_statement_are_the_same_each_time) {
    const auto &statements = operators().front().cells.front().statements;
    const auto &s = statements.at(1);
    const way reference {"reference", true}, scalar {"scalar"};
    const auto computed = s.draw();
    const auto first = computed(reference);
    EXPECT_EQ(computed(scalar), first);
    EXPECT_EQ(computed(reference), first);
    EXPECT_EQ(s.draw()(reference), first);
    EXPECT_NE(statements.at(2).draw()(reference), first);
}

} // namespace

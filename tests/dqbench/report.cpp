// dqbench prints a case and its measurements by the templates of its user.
#include <map>

#include <gtest/gtest.h>

#include "perf_template.hpp"
#include "report.hpp"

namespace {

using namespace dqbench;

test_case named_case() {
    return {.prb = {{8, 64}, "fc"}};
}

measurement by_hand() {
    return {.ran = {dynquant::kernel_kind::native, "avx2"},
            .elements = 512,
            .input_bytes = 2048,
            .output_bytes = 512,
            .own = {0.5, 1, 2, 4, 0.25}};
}

/// Three peers (one ran, one refused, one is absent) and the flat loop.
measurement with_peers() {
    auto m = by_hand();
    m.peers = {{peer_kind::flat, timing {0.125, 0.5, 1, 2, 0.1}}, {peer_kind::onednn_graph, timing {1.5, 2, 3, 4, 1}},
            {peer_kind::onednn_reorder}, {peer_kind::xnnpack, {}, true}};
    return m;
}

TEST(dqbench_report, times_that_are_far_apart_are_told) {
    EXPECT_EQ(warning_of_noise({.least = 2, .median = 2, .average = 3, .most = 9, .quartile_range = 1}), "");
    EXPECT_EQ(warning_of_noise({.least = 2, .median = 2, .average = 7, .most = 9, .quartile_range = 1}),
            "the machine is busy: the average is 3.5 times the least time and says little; compare least times");
    EXPECT_EQ(warning_of_noise({.least = 0, .median = 0, .average = 7, .most = 9, .quartile_range = 1}), "");
}

TEST(dqbench_perf_template, has_fields_of_benchdnn) {
    const auto c = named_case();
    const auto m = by_hand();
    EXPECT_EQ(perf_template::parse("%impl% %engine% %sdt% %ddt% %iobytes% %Kiobytes% %spread%").line(c, 0, m),
            "native:avx2 cpu f32 s8 2560 2.56 25");
}

/// Without a statistic %ctime% is the most, as in benchdnn, whose first creation finds no cache.
TEST(dqbench_perf_template, times_have_statistics_and_units) {
    const auto c = named_case();
    auto m = with_peers();
    m.creation = {8, 10, 12, 20, 1};
    for (const auto &[text, expected] : {std::pair {"%-ctime% %~ctime% %0ctime% %+ctime% %ctime%", "8 10 12 20 20"},
                 {"%Kctime% %-Mctime% %0Gctime%", "0.02 8e-06 1.2e-08"}, {"%Ktime% %+Mtime%", "0.0005 4e-06"},
                 {"%Kpeertime:flat% %~Kpeertime:onednn_graph%", "0.000125 0.002"}})
        EXPECT_EQ(perf_template::parse(text).line(c, 0, m), expected) << text;
    EXPECT_EQ(perf_template::parse("%-Kctime%,%0ctime%").header(), "min_Kctime,avg_ctime");
}

TEST(dqbench_perf_template, fills_in_fields) {
    const auto plain = named_case();
    auto other = named_case();
    other.api = api_kind::direct;
    other.cache = cache_state::cold;
    other.offset = 3;
    other.peers = {peer_kind::flat, peer_kind::xnnpack};
    const auto alone = by_hand(), beside = with_peers();
    auto refused = by_hand(), measured = by_hand();
    refused.peers = {{peer_kind::onednn_graph}};
    measured.peers = {{peer_kind::onednn_graph, timing {1.5, 2, 3, 4, 1}}};
    struct row {
        std::string text;
        const test_case &c;
        const measurement &m;
        std::string expected;
    };
    for (const auto &[text, c, m, expected] : {
                 row {"a,%op%,%desc%,%name%,%kernel%:%isa%;%idx%z", plain, alone,
                         "a,DynamicQuantize,8x64,\"fc\",native:avx2;7z"},
                 row {"%prb%", plain, alone, "--op=DynamicQuantize --dt=f32:f32:undef:s8 8x64n\"fc\""},
                 row {"%dt%,%qtype%,%axis%,%stag%", plain, alone, "f32:f32:undef:s8,per_tensor,,abx"},
                 row {"plain", plain, alone, "plain"},
                 row {"%api% %cache% %offset% [%peer%]", plain, alone, "graph warm 0 []"},
                 row {"%api% %cache% %offset% [%peer%]", other, alone, "direct cold 3 [flat/xnnpack]"},
                 // Modifiers choose statistic and unit.
                 row {"%time% %-time% %~time% %0time% %+time%", plain, alone, "0.5 0.5 1 2 4"},
                 row {"%Kelems% %+elems%", plain, alone, "1024 128000"}, // 512 in 0.5 ms, in 4 ms
                 row {"%-Mbw%", plain, alone, "5.12"},                   // 2560 bytes in 0.5 ms
                 row {"%spread%", plain, alone, "25"},                   // 0.25/1, in percent of the median
                 row {"[%flat%]", plain, alone, "[]"},
                 row {"%flat% %~flat% %0flat%", plain, beside, "25 50 50"}, // 0.125/0.5, 0.5/1, 1/2
                 // A ratio compares the same statistic.
                 row {"[%peertime%|%ratio%]", plain, alone, "[|]"},
                 row {"[%peertime%|%ratio%]", plain, refused, "[refused|]"},
                 row {"%-peertime%,%-ratio%,%~ratio%", plain, measured, "1.5,3,2"},
                 // Peers are joined without those that compute nothing, and may be named.
                 row {"%~peertime% %~ratio%", plain, beside, "2/refused/absent 2//"},
                 row {"%~peertime:onednn_graph%,%-ratio:onednn_graph%", plain, beside, "2,3"},
                 row {"%peertime:onednn_reorder%,%ratio:onednn_reorder%", plain, beside, "refused,refused"},
                 row {"%peertime:xnnpack%,%ratio:xnnpack%", plain, beside, "absent,absent"},
                 row {"%peertime:flat%,%~ratio:flat%", plain, beside, "0.125,0.5"},
                 row {"[%peertime:xnnpack%,%ratio:xnnpack%]", plain, alone, "[,]"}, // not asked
         })
        EXPECT_EQ(perf_template::parse(text).line(c, 7, m), expected) << text;
}

/// The fields of a line of comma-separated values.
std::vector<std::string> fields_of(const std::string &line) {
    std::vector<std::string> fields(1);
    bool inside = false;
    for (std::size_t i = 0; i < line.size(); ++i) {
        if (line[i] == '"' && inside && i + 1 < line.size() && line[i + 1] == '"')
            fields.back() += line[++i];
        else if (line[i] == '"')
            inside = !inside;
        else if (line[i] == ',' && !inside)
            fields.emplace_back();
        else
            fields.back() += line[i];
    }
    return fields;
}

TEST(dqbench_perf_template, csv_has_a_field_for_each_column) {
    auto c = named_case();
    c.peers = {peer_kind::flat, peer_kind::onednn_graph, peer_kind::onednn_reorder, peer_kind::xnnpack};
    c.rule = rule_kind::onnx;
    c.division = dynquant::precision::f16;
    c.saturate = true;
    const auto csv = perf_template::parse("csv");
    auto measured = with_peers();
    measured.creation = {8, 10, 12, 20, 1};
    const auto names = fields_of(csv.header()), values = fields_of(csv.line(c, 7, measured));
    ASSERT_EQ(names.size(), values.size()) << csv.line(c, 7, measured);
    std::map<std::string, std::string> row;
    for (std::size_t i = 0; i < names.size(); ++i)
        row[names[i]] = values[i];
    EXPECT_EQ(row.size(), names.size()) << "a column stands twice";
    EXPECT_EQ(row["name"], "fc");
    EXPECT_EQ(row["rule"], "onnx");
    EXPECT_EQ(row["division"], "f16");
    EXPECT_EQ(row["saturate"], "true");
    EXPECT_EQ(row["median_time"], "1");
    EXPECT_EQ(row["median_flat"], "50");
    EXPECT_EQ(row["median_ctime"], "10");
    EXPECT_EQ(row["peer"], "flat/onednn_graph/onednn_reorder/xnnpack");
    EXPECT_EQ(row["median_ratio:onednn_graph"], "2");
    EXPECT_EQ(row["median_peertime:onednn_reorder"], "refused");
    EXPECT_EQ(row["median_peertime:flat"], "0.5");
    EXPECT_EQ(row["prb"], repro(c)); // with commas and quotes
}

TEST(dqbench_perf_template, header_names_the_fields) {
    EXPECT_EQ(perf_template::parse("%~ratio:xnnpack%").header(), "median_ratio:xnnpack");
    EXPECT_EQ(perf_template::parse("perf,%prb%,%-time%,%~time%,%-Gelems%!").header(),
            "perf,prb,min_time,median_time,min_Gelems!");
    EXPECT_EQ(perf_template().header(),
            "perf,kernel,isa,name,prb,min_time,avg_time,spread,min_Gelems,min_Gbw,min_peertime,min_ratio");
}

TEST(dqbench_result_line, is_benchdnns) {
    const job j {named_case(), {}};
    const dynquant::operation_info ran {dynquant::kernel_kind::native, "avx2"};
    const std::pair<outcome, std::string> lines[] = {
            {{case_state::passed, "", ran}, "7:PASSED (native:avx2) (3 ms)"},
            {{case_state::executed, "", ran}, "7:EXECUTED (native:avx2) (3 ms)"},
            {{case_state::initialized, "", ran}, "7:INITIALIZED (native:avx2) (3 ms)"},
            {{case_state::skipped, "why"}, "7:SKIPPED (why)"},
            {{case_state::listed}, "7:LISTED"},
            {{case_state::compared}, "7:COMPARED"},
            {{case_state::failed}, "7:FAILED"},
    };
    for (const auto &[o, line] : lines)
        EXPECT_EQ(result_line(7, j, o, 3.4), line + " __REPRO: --op=DynamicQuantize --dt=f32:f32:undef:s8 8x64n\"fc\"");
}

} // namespace

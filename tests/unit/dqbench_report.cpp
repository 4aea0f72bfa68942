// What dqbench prints of a case.
#include <gtest/gtest.h>

#include "dqbench_support.hpp"
#include "perf_template.hpp"
#include "report.hpp"

namespace {

using namespace dqbench;

test_case named_case() {
    test_case c;
    c.prb = {{8, 64}, "fc"};
    return c;
}

measurement by_hand() {
    measurement m;
    m.ran = {dynquant::kernel_kind::native, "avx2"};
    m.elements = 512;
    m.input_bytes = 2048;
    m.output_bytes = 512;
    m.own = {0.5, 1, 2, 4, 0.25};
    return m;
}

std::string line(const std::string &text, const test_case &c, const measurement &m) {
    return perf_template::parse(text).line(c, 7, m);
}

TEST(dqbench_perf_template, fills_in_fields) {
    const auto c = named_case();
    const auto m = by_hand();
    EXPECT_EQ(line("a,%op%,%desc%,%name%,%kernel%:%isa%;%idx%z", c, m), "a,DynamicQuantize,8x64,\"fc\",native:avx2;7z");
    EXPECT_EQ(line("%prb%", c, m), "--op=DynamicQuantize --dt=f32:f32:undef:s8 8x64n\"fc\"");
    EXPECT_EQ(line("%dt%,%qtype%,%axis%,%stag%", c, m), "f32:f32:undef:s8,per_tensor,,abx");
    EXPECT_EQ(line("plain", c, m), "plain");
}

TEST(dqbench_perf_template, modifiers_choose_statistic_and_unit) {
    const auto c = named_case();
    const auto m = by_hand();
    EXPECT_EQ(line("%time% %-time% %~time% %0time% %+time%", c, m), "0.5 0.5 1 2 4");
    EXPECT_EQ(line("%Kelems% %+elems%", c, m), "1024 128000"); // 512 in 0.5 ms, in 4 ms
    EXPECT_EQ(line("%-Mbw%", c, m), "5.12");                   // 2560 bytes in 0.5 ms
}

TEST(dqbench_perf_template, ratio_compares_the_same_statistic) {
    auto c = named_case();
    auto m = by_hand();
    EXPECT_EQ(line("[%peertime%|%ratio%]", c, m), "[|]");
    c.peers = {peer_kind::onednn_graph};
    m.peers = {{peer_kind::onednn_graph}};
    EXPECT_EQ(line("[%peertime%|%ratio%]", c, m), "[refused|]");
    m.peers[0].time = timing {1.5, 2, 3, 4, 1};
    EXPECT_EQ(line("%-peertime%,%-ratio%,%~ratio%", c, m), "1.5,3,2");
}

TEST(dqbench_perf_template, header_names_the_fields) {
    EXPECT_EQ(perf_template::parse("perf,%prb%,%-time%,%~time%,%-Gelems%!").header(),
            "perf,prb,min_time,median_time,min_Gelems!");
    EXPECT_EQ(perf_template().header(),
            "perf,kernel,isa,name,prb,min_time,median_time,min_Gelems,min_Gbw,min_peertime,min_ratio");
}

TEST(dqbench_perf_template, refuses_unknown_and_open_fields) {
    expect_usage_error([] { perf_template::parse("%tme%"); }, "unknown field '%tme%' (did you mean 'time'?)");
    expect_usage_error([] { perf_template::parse("a%time"); }, "expected a % after '%time'");
    expect_usage_error([] { perf_template::parse("%%"); }, "unknown field '%%'");
}

TEST(dqbench_result_line, is_benchdnns) {
    const auto c = named_case();
    const std::string repro = " __REPRO: --op=DynamicQuantize --dt=f32:f32:undef:s8 8x64n\"fc\"";
    EXPECT_EQ(result_line(0, c,
                      {case_state::passed, "", dynquant::operation_info {dynquant::kernel_kind::native, "avx2"}}, 3.4),
            "0:PASSED (native:avx2) (3 ms)" + repro);
    EXPECT_EQ(result_line(12, c, {case_state::skipped, "why"}, 0), "12:SKIPPED (why)" + repro);
    EXPECT_EQ(result_line(2, c, {case_state::listed}, 0), "2:LISTED" + repro);
}

} // namespace

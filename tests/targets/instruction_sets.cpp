// What the processor is asked agrees with what Linux says of it. Names the instruction sets that this processor lacks,
// with which no test computes: ctest runs each case as a separate test and lists it as skipped.
#include <fstream>
#include <iterator>
#include <set>
#include <sstream>
#include <string>

#include <gtest/gtest.h>

#include "targets/features.hpp"

namespace dynquant::targets {
namespace {

/// The words of a line of /proc/cpuinfo.
[[maybe_unused]] std::set<std::string> words_of_linux(const char *of) {
    std::ifstream info("/proc/cpuinfo");
    for (std::string line; std::getline(info, line);) {
        if (!line.starts_with(of)) continue;
        std::istringstream words(line.substr(line.find(':') + 1));
        return {std::istream_iterator<std::string>(words), {}};
    }
    return {};
}

#if defined(__x86_64__)
TEST(processor, has_the_features_that_linux_names) {
    constexpr instruction_set named[] = {{"avx2", feature::avx2}, {"fma", feature::fma}, {"f16c", feature::f16c},
            {"bmi2", feature::bmi2}, {"avx512f", feature::avx512f}, {"avx512bw", feature::avx512bw},
            {"avx512dq", feature::avx512dq}, {"avx512vl", feature::avx512vl}, {"avx512vbmi", feature::avx512vbmi},
            {"avx512_vnni", feature::avx512vnni}, {"avx512_fp16", feature::avx512fp16}, {"amx_int8", feature::amx_int8},
            {"avx_vnni", feature::avx_vnni}};
    const auto flags = words_of_linux("flags");
    ASSERT_TRUE(flags.contains("sse2"));
    for (const auto &[name, needs] : named)
        EXPECT_EQ(has(of_processor(), needs), flags.contains(name)) << name;
}

// AMD, Software Optimization Guide for family 17h: models 00h to 2Fh (Zen 1) have units of 128 bits, 30h and on (Zen 2)
// of 256. Earlier families have units of 128, Hygon's family 18h is a Zen 1.
TEST(processor, has_vectors_in_halves_where_its_model_has_them) {
    const auto number = [](const char *of) { return std::stoi(*words_of_linux(of).begin()); };
    const auto family = number("cpu family"), model = number("model\t");
    const bool is_amd = words_of_linux("vendor_id").contains("AuthenticAMD");
    const bool is_in_halves = is_amd ? family < 23 || (family == 23 && model < 0x30) : family == 24;
    const bool says_so = has(of_processor(), feature::ymm_in_halves);
    if (is_in_halves && !says_so && words_of_linux("flags").contains("hypervisor"))
        GTEST_SKIP() << "the hypervisor does not pass on what the processor says";
    EXPECT_EQ(says_so, is_in_halves);
}
#elif defined(__aarch64__)
TEST(processor, has_the_features_that_linux_names) {
    constexpr instruction_set named[] = {
            {"asimd", feature::neon}, {"asimddp", feature::dotprod}, {"i8mm", feature::i8mm}};
    const auto flags = words_of_linux("Features");
    ASSERT_TRUE(flags.contains("asimd"));
    for (const auto &[name, needs] : named)
        EXPECT_EQ(has(of_processor(), needs), flags.contains(name)) << name;
}
#endif

TEST(caps, admit_what_extends_them) {
    EXPECT_EQ(up_to(isa::scalar), scalar | feature::ymm_in_halves);
    EXPECT_EQ(up_to(isa::avx2), avx2_vnni | feature::ymm_in_halves);
    for (const auto extension : {avx2_vnni, avx512, avx512_vbmi, avx512_vnni, avx512_fp16, amx_int8})
        EXPECT_TRUE(has(up_to(isa::avx512), extension));
    EXPECT_EQ(up_to(isa::neon), neon_i8mm | feature::ymm_in_halves);
    for (const auto cap : {isa::scalar, isa::avx2, isa::avx512})
        EXPECT_FALSE(has(up_to(cap), neon)) << to_string(cap);
}

TEST(caps, strongest_needs_all_features) {
    EXPECT_EQ(strongest(scalar), isa::scalar);
    EXPECT_EQ(strongest(avx2), isa::avx2);
    EXPECT_EQ(strongest(avx2 & ~feature::f16c), isa::scalar);
    EXPECT_EQ(strongest(avx512), isa::avx512);
    EXPECT_EQ(strongest(avx512 & ~feature::avx512vl), isa::avx2);
    EXPECT_EQ(strongest(neon), isa::neon);
    EXPECT_EQ(strongest(neon_i8mm), isa::neon);
    EXPECT_EQ(strongest(of(isa::avx512) & up_to(isa::neon)), isa::scalar);
}

TEST(pick, takes_the_first_whose_features_are_there) {
    const auto picked = [](features available) {
        constexpr candidate<int> table[] = {{avx512_vnni, 3}, {avx512, 2}, {avx2, 1}, {scalar, 0}};
        return pick(available, table);
    };
    EXPECT_EQ(picked(scalar), 0);
    EXPECT_EQ(picked(feature::avx512vnni), 0); // alone it is no instruction set
    EXPECT_EQ(picked(avx2), 1);
    EXPECT_EQ(picked(avx512_vbmi), 2);
    EXPECT_EQ(picked(avx512_vbmi | avx512_vnni), 3);
}

class instruction_set_of_processor : public testing::TestWithParam<instruction_set> {};

TEST_P(instruction_set_of_processor, is_there) {
    if (!has(of_processor(), GetParam().needs)) GTEST_SKIP() << "this processor lacks it";
}

INSTANTIATE_TEST_SUITE_P(each, instruction_set_of_processor, testing::ValuesIn(instruction_sets),
        [](const auto &tested) { return std::string(tested.param.name); });

} // namespace
} // namespace dynquant::targets

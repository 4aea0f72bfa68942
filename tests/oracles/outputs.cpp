// Presets of computed scales give the bits that the libraries give which they are named after, on every kernel.
// make.py describes the files.
#include <algorithm>
#include <filesystem>
#include <fstream>
#include <map>
#include <sstream>
#include <stdexcept>

#include <gtest/gtest.h>

#include "support/direct.hpp"

namespace dynquant::test {
namespace {

namespace fs = std::filesystem;

const std::map<std::string, scale_rule> &all_presets() {
    using namespace presets;
    static const std::map<std::string, scale_rule> all {{"onnx", onnx()}, {"mx(floor)", mx()},
            {"mx(ceil)", mx(scale_rounding::ceil)}, {"mx(even)", mx(scale_rounding::even)},
            {"mx(rceil)", mx(scale_rounding::rceil)}, {"nvfp4", nvfp4()}, {"onednn_dynamic_fp", onednn_dynamic_fp()},
            {"torchao_symmetric", torchao_symmetric()}, {"torchao_asymmetric", torchao_asymmetric()},
            {"ggml_q8_0", ggml_q8_0()}, {"vllm", vllm()}};
    return all;
}

data_type type_named(const std::string &name) {
    for (int i = 0; i <= static_cast<int>(data_type::f8_e8m0); ++i)
        if (to_string(static_cast<data_type>(i)) == name) return static_cast<data_type>(i);
    throw std::runtime_error("no data type: " + name);
}

/// 3x32
dims dims_from(const std::string &text) {
    dims extents;
    std::istringstream stream(text);
    for (std::string extent; std::getline(stream, extent, 'x');)
        extents.push_back(std::stoll(extent));
    return extents;
}

std::vector<std::byte> bytes_from(const std::string &hexadecimal) {
    std::vector<std::byte> bytes;
    for (std::size_t i = 0; i < hexadecimal.size(); i += 2)
        bytes.push_back(static_cast<std::byte>(std::stoi(hexadecimal.substr(i, 2), nullptr, 16)));
    return bytes;
}

/// The cases of a file, each with the library's outputs as what is expected.
std::vector<std::pair<std::string, sample>> read(const fs::path &path) {
    std::ifstream file(path);
    std::vector<std::pair<std::string, sample>> cases;
    quantization q;
    oracle::inputs in;
    for (std::string line; std::getline(file, line);) {
        std::istringstream words(line);
        std::string key, text;
        words >> key >> text;
        if (key == "src") {
            std::string extents, block, bytes;
            words >> extents >> block >> bytes;
            q.src = {type_named(text), dims_from(extents), {}};
            q.scales.block = dims_from(block);
            in.src = bytes_from(bytes);
        } else if (key == "case") {
            auto &[name, s] = cases.emplace_back(path.filename().string() + ": " + line, sample());
            s.q = q;
            s.in = in;
            s.q.rule = numerics::onnx;
            s.q.computed = all_presets().at(text);
            std::string dst, scales, option, bytes;
            words >> dst >> scales;
            s.q.dst = {type_named(dst), q.src.dims, {}};
            s.q.scales.type = type_named(scales);
            while (words >> option) {
                if (option == "saturate") {
                    s.q.saturate = true;
                } else if (option == "global" && words >> bytes) {
                    s.q.second_scales = {data_type::f32, q.src.dims, {}};
                    s.in.second_scales = bytes_from(bytes);
                } else {
                    throw std::runtime_error("unexpected: " + line);
                }
            }
        } else if (key == "scales") {
            cases.back().second.expected_scales = bytes_from(text);
        } else if (key == "zero_points") {
            auto &s = cases.back().second;
            s.q.zero_points = {s.q.dst.type, s.q.scales.block, {}};
            s.expected_zero_points = bytes_from(text);
        } else if (key == "codes") {
            cases.back().second.expected = bytes_from(text);
        } else if (key != "#") {
            throw std::runtime_error("unexpected: " + line);
        }
    }
    return cases;
}

std::vector<fs::path> files() {
    std::vector<fs::path> found;
    for (const auto &entry : fs::directory_iterator(ORACLE_OUTPUTS))
        found.push_back(entry.path());
    std::ranges::sort(found);
    return found;
}

class outputs : public testing::TestWithParam<fs::path> {};

TEST_P(outputs, are_computed_by_every_kernel) {
    const auto cases = read(GetParam());
    ASSERT_FALSE(cases.empty());
    for (const auto &[name, s] : cases) {
        ASSERT_EQ(s.expected.size(), bytes_spanned(s.q.dst)) << name;
        ASSERT_FALSE(s.expected_scales.empty()) << name;
        EXPECT_TRUE(computed_right(s, variants_for(s))) << name;
    }
}

TEST_P(outputs, are_computed_by_the_oracle) {
    for (const auto &[name, s] : read(GetParam())) {
        const sample ours(s.q, s.in);
        EXPECT_EQ(oracle::wrong_parameter("scale", s.q.scales.type, s.expected_scales, ours.expected_scales), "")
                << name;
        EXPECT_EQ(s.expected_zero_points, ours.expected_zero_points) << name;
        EXPECT_TRUE(result_right(s, ours.expected)) << name;
    }
}

INSTANTIATE_TEST_SUITE_P(
        of, outputs, testing::ValuesIn(files()), [](const auto &value) { return value.param.stem().string(); });

TEST(outputs_of_presets, are_there_for_every_preset_with_a_wheel) {
    std::map<std::string, int> cases;
    for (const auto &file : files())
        for (const auto &[name, s] : read(file))
            for (const auto &[preset, rule] : all_presets())
                if (rule == *s.q.computed) ++cases[preset];
    for (const auto &[preset, rule] : all_presets())
        EXPECT_GT(cases[preset], 0) << preset;
}

} // namespace
} // namespace dynquant::test

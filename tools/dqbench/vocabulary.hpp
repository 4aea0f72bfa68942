// The words that options take as values.
#pragma once

#include <array>
#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "elements/table.hpp"
#include "quantization/named_rules.hpp"
#include "quantization/text.hpp"
#include "test_case.hpp"
#include "text_parsing.hpp"

namespace dqbench {

template <typename Value>
struct word {
    const char *name;
    Value value;
};

/// The words for the values of a type: specializations below.
template <typename Value>
extern const std::array<word<Value>, 0> words;

template <>
inline constexpr auto words<run_mode> = std::array<word<run_mode>, 8> {{
        {"L", run_mode::list},
        {"I", run_mode::initialization},
        {"R", run_mode::run},
        {"C", run_mode::correctness},
        {"B", run_mode::bitwise},
        {"P", run_mode::performance},
        {"CP", run_mode::correctness_and_performance},
        {"F", run_mode::fast},
}};

template <>
inline constexpr auto words<op_kind> = std::array<word<op_kind>, 4> {{
        {"DynamicQuantize", op_kind::DynamicQuantize},
        {"DynamicDequantize", op_kind::DynamicDequantize},
        {"Quantize", op_kind::Quantize},
        {"Dequantize", op_kind::Dequantize},
}};

template <>
inline constexpr auto words<granularity> = std::array<word<granularity>, 3> {{
        {"per_tensor", granularity::per_tensor},
        {"per_channel", granularity::per_channel},
        {"per_group", granularity::per_group},
}};

template <>
inline constexpr auto words<parameter_kind> = std::array<word<parameter_kind>, 4> {{
        {"usual", parameter_kind::usual},
        {"pow2", parameter_kind::pow2},
        {"wild", parameter_kind::wild},
        {"nvfp4", parameter_kind::nvfp4},
}};

template <>
inline constexpr auto words<data_kind> = std::array<word<data_kind>, 2> {{
        {"ties", data_kind::ties},
        {"normal", data_kind::normal},
}};

template <>
inline constexpr auto words<fpmath_mode> = std::array<word<fpmath_mode>, 5> {{
        {"strict", fpmath_mode::strict},
        {"bf16", fpmath_mode::bf16},
        {"f16", fpmath_mode::f16},
        {"tf32", fpmath_mode::tf32},
        {"any", fpmath_mode::any},
}};

template <>
inline constexpr auto words<rule_kind> = std::array<word<rule_kind>, 2> {{
        {"onednn", rule_kind::onednn},
        {"onnx", rule_kind::onnx},
}};

template <>
inline constexpr auto words<dynquant::precision> = std::array<word<dynquant::precision>, 4> {{
        {"f32", dynquant::precision::f32},
        {"f16", dynquant::precision::f16},
        {"bf16", dynquant::precision::bf16},
        {"f64", dynquant::precision::f64},
}};

template <>
inline constexpr auto words<bool> = std::array<word<bool>, 2> {{
        {"false", false},
        {"true", true},
}};

template <>
inline constexpr auto words<peer_kind> = std::array<word<peer_kind>, 4> {{
        {"flat", peer_kind::flat},
        {"onednn_graph", peer_kind::onednn_graph},
        {"onednn_reorder", peer_kind::onednn_reorder},
        {"xnnpack", peer_kind::xnnpack},
}};

template <>
inline constexpr auto words<kernel_choice> = std::array<word<kernel_choice>, 4> {{
        {"auto", kernel_choice::automatic},
        {"native", kernel_choice::native},
        {"onednn", kernel_choice::onednn},
        {"reference", kernel_choice::reference},
}};

template <>
inline constexpr auto words<api_kind> = std::array<word<api_kind>, 2> {{
        {"graph", api_kind::graph},
        {"direct", api_kind::direct},
}};

template <>
inline constexpr auto words<cache_state> = std::array<word<cache_state>, 2> {{
        {"warm", cache_state::warm},
        {"cold", cache_state::cold},
}};

template <>
inline constexpr auto words<std::optional<dynquant::isa>> = std::array<word<std::optional<dynquant::isa>>, 5> {{
        {"auto", std::nullopt},
        {"scalar", dynquant::isa::scalar},
        {"avx2", dynquant::isa::avx2},
        {"avx512", dynquant::isa::avx512},
        {"neon", dynquant::isa::neon},
}};

template <>
inline constexpr auto words<data_type> = [] {
    std::array<word<data_type>, std::size(dynquant::data_types)> table {};
    for (std::size_t i = 0; i < table.size(); ++i)
        table[i] = {dynquant::data_types[i].name, dynquant::data_types[i].type};
    return table;
}();

template <typename Value>
std::vector<std::string> names_of() {
    std::vector<std::string> names;
    for (const auto &entry : words<Value>)
        names.emplace_back(entry.name);
    return names;
}

/// Throws usage_error, with the nearest spelling.
template <typename Value>
Value parse_word(std::string_view text) {
    for (const auto &entry : words<Value>)
        if (text == entry.name) return entry.value;
    throw usage_error(dynquant::concat("expected ", dynquant::alternatives(names_of<Value>(), std::identity {}),
            ", given '", text, "'", dynquant::suggest(std::string(text), names_of<Value>())));
}

template <typename Value>
const char *name_of(const Value &value) {
    for (const auto &entry : words<Value>)
        if (value == entry.value) return entry.name;
    return "unknown";
}

/// The names of the rules that compute scales.
inline std::vector<std::string> rule_names() {
    std::vector<std::string> names;
    for (const auto &row : dynquant::named_rules())
        names.emplace_back(row.name);
    return names;
}

inline const char *name_of(const dynquant::scale_rule &value) {
    for (const auto &row : dynquant::named_rules())
        if (value == row.rule) return row.name;
    return "unknown";
}

} // namespace dqbench

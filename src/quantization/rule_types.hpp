// Which rules of computed scales go with which data types: one table, which all front-ends ask.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "dynquant/quantization.hpp"

namespace dynquant {

/// The type of computed scales that may have a global scale.
inline constexpr auto below_global_scale = data_type::f8_e4m3;

std::vector<data_type> dst_types_of(const scale_rule &rule);

/// None for a rule that contradicts itself.
std::vector<data_type> scale_types_of(const scale_rule &rule);

/// A choice of a rule that does not go with what stands beside it, as texts for a message.
struct wrong_choice {
    std::string_view name; // of scale_rule's member
    std::string expected, beside, given;
};

/// Beside a type of place::computed.
std::optional<wrong_choice> wrong_choice_for_dst(const scale_rule &rule, data_type dst);

/// Beside a type of scales, or beside other choices if there is none. Not for a type that the rule's range never has.
std::optional<wrong_choice> wrong_choice_for_scales(const scale_rule &rule, std::optional<data_type> scales = {});

} // namespace dynquant

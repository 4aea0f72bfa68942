// The granularity of one of the four ops, whose src has known dims: which elements share a scale and a zero point.
// Functions throw usage_error where attributes contradict each other or src.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "json_graph/model.hpp"

namespace dqbench::json_graph {

/// An attribute's value, or the other text if the op lacks it.
std::string value_of(const op &o, const std::string &name, const std::string &otherwise);

/// dqbench has no masks: groups state the same scales.
std::string qtype_of(const op &o);

/// The channels' dim; none if the op is not per_channel, or if the library will refuse the axis.
std::optional<std::size_t> channel_dim(const op &o);

/// The number of scales; none if unknown here.
std::optional<std::int64_t> parameter_count(const op &o);

/// The group's extents. Along dims without a bit of the mask it is as long as src.
dynquant::dims group_of(const op &o);

/// The dims of scales and zps: the number of groups along each dim, or along each dim of the mask.
dynquant::dims grouped_dims(const op &o);

} // namespace dqbench::json_graph

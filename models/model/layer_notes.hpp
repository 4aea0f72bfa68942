// Notes and warnings about a layer, for model_stage.
#pragma once

#include <span>
#include <string>

#include "dynquant/model.hpp"
#include "layers/layer/layer.hpp"
#include "layers/match/graph.hpp"

namespace dynquant::models {

/// The shortest decimal that reads back as the same float.
std::string text_of(float value);

/// Warns that a layer's sums, with the bias if there is one, may wrap for inputs that the type of x allows. Empty where
/// they cannot.
std::string warning_of(const layers::layer_description &d, std::span<const std::byte> weights);

/// Names the multiplier that is not positive or, of two, the one that is no integer or no right shift, and says whether
/// that prevents folding. Empty where all are as expected. multipliers: the constants of `rescale`, values of g.
std::string note_of(
        const layers::match::graph &g, std::span<const std::size_t> multipliers, const model_rescale &rescale);

} // namespace dynquant::models

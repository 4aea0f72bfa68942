// Notes and warnings about a layer, for model_stage.
#pragma once

#include <string>

#include "dynquant/model.hpp"
#include "model/match.hpp"
#include "model/op_node.hpp"

namespace dynquant::models {

/// Warns that the sums, with the bias if there is one, may wrap for inputs that the type of x allows. Empty where they
/// cannot.
std::string warning_of(const op_node &product, const tensor *bias);

/// Names the multiplier of the two that is no integer or no right shift, and says whether that prevents folding. Empty
/// where both are.
std::string note_of(const graph &g, const layer &l, const model_rescale &rescale);

} // namespace dynquant::models

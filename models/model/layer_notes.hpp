// What a person should know of a layer.
#pragma once

#include <string>

#include "dynquant/model.hpp"
#include "model/match.hpp"
#include "model/op_node.hpp"

namespace dynquant::models {

/// That the product's sums, with the bias if there is one, may wrap by what their types allow. Empty where they cannot.
std::string warning_of(const op_node &product, const tensor *bias);

/// What of a layer's two multipliers is no integer and right shift, and whether they are not folded for it. Empty where
/// there is nothing to say.
std::string note_of(const graph &g, const layer &l, const model_rescale &rescale);

} // namespace dynquant::models

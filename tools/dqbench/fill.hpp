// Fills src with random elements, which depend on the case alone.
#pragma once

#include "statement.hpp"

namespace dqbench {

/// For checking: ties and their neighbours, special, saturating and ordinary values; or normally distributed ones,
/// around the middle of dst's range, of which an eighth is the standard deviation. For measuring: ordinary values only,
/// uniformly distributed.
enum class filling { checking, normal, measuring };

/// By the parameters: the results are in or near the range of dst's type. Where scales are computed, these are about
/// those of p.
void fill_src(const statement &s, const parameters &p, filling kind, void *src);

/// A float whose quantized value is in or near [lowest, highest].
float draw_real(std::uint64_t index, filling kind, float scale, std::int32_t zero_point, double lowest, double highest);

} // namespace dqbench

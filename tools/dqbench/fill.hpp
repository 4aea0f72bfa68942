// The elements of src.
#pragma once

#include "statement.hpp"

namespace dqbench {

/// For checking: ties and their neighbours, special values, saturating values, ordinary ones.
/// For measuring: ordinary values alone, as networks have them.
enum class filling { checking, measuring };

void fill_src(const statement &s, const parameters &p, filling kind, void *src);

/// A float for an element that quantizes to something near the range [lowest, highest].
float draw_real(std::uint64_t index, filling kind, float scale, std::int32_t zero_point, double lowest, double highest);

} // namespace dqbench

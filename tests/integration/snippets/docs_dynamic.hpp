// What the blocks of docs/dynamic.md assume.
#pragma once

#include <cstdint>

#include <dynquant/quantization.hpp>
#include <dynquant/scale_rule.hpp>

extern const float *src;
extern std::int8_t *dst;
extern float *scales;
extern const std::int64_t tokens;

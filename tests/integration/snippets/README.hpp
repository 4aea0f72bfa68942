// What the blocks of README.md assume.
#pragma once

#include <cstdint>

#include <dynquant/quantization.hpp>

extern const float *src, *scales;
extern std::uint8_t *dst;

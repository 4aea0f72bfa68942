// What the blocks of README.md assume.
#pragma once

#include <cstdint>
#include <string>

#include <dynquant/graph.hpp>
#include <dynquant/quantization.hpp>
#include <onnxruntime_cxx_api.h>

extern const float *src, *scales;
extern std::uint8_t *dst;
extern Ort::Env env;
extern Ort::SessionOptions options;
using namespace std::literals;

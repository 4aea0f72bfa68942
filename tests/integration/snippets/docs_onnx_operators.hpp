// What the blocks of docs/onnx_operators.md assume.
#pragma once

#include <dynquant/onnx.hpp>

extern const void *x, *y_scale, *y_zero_point;
extern void *y;

// Precompiled header: what nearly every test file includes.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <limits>
#include <memory>
#include <optional>
#include <sstream>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "dynquant/onnx.hpp"
#include "dynquant/quantization.hpp"
#if DYNQUANT_TEST_ONEDNN
#include "dynquant/graph.hpp"
#endif

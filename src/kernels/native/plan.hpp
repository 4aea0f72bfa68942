// What the row algorithms are given, and what they give back to the kernel. Included by code compiled for
// one instruction set: plain types only (see quantization/canonical.hpp).
#pragma once

#include <cstdint>

#include "quantization/canonical.hpp"

namespace dynquant::kernels::native {

/// Zero points as they lie in memory.
struct zero_points_view {
    enum class kind { none, s8, u8, s32 };

    kind type = kind::none;
    const void *data = nullptr;
};

/// One call: the shape and the buffers.
struct call {
    const canonical_form *form;
    const void *src;
    const float *scales;
    zero_points_view zero_points;
    void *dst;
    bool streaming; // whether results go past the caches
};

/// Rows [row_begin, row_end) by columns [column_begin, column_end) of the canonical form.
struct rectangle {
    std::int64_t row_begin, row_end, column_begin, column_end;
};

using row_function = void (*)(const call &, const rectangle &);

/// The row algorithms of one instruction set.
struct row_functions {
    row_function quantize_strict_s8, quantize_strict_u8;
    row_function quantize_any_s8, quantize_any_u8;
    row_function dequantize_s8, dequantize_u8;
};

extern const row_functions scalar_rows;
#if defined(__x86_64__)
extern const row_functions avx2_rows, avx512_rows;
#endif

} // namespace dynquant::kernels::native

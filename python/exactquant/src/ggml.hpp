// Blocks of ggml: scales and codes that lie side by side, as GGUF files have them.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string_view>

namespace exactquant::ggml {

/// A type of ggml's: `elements` values are a block of `bytes`. quantize: null where ggml's Python package has none.
struct block_type {
    std::string_view name;
    std::int64_t elements, bytes;
    void (*quantize)(const float *x, std::int64_t blocks, std::uint8_t *to);
    void (*dequantize)(const std::uint8_t *from, std::int64_t blocks, float *y);
};

std::span<const block_type> types();
/// Those of ggml_k.cpp and ggml_ternary.cpp, which types() has too.
std::span<const block_type> types_of_coded_scales(), ternary_types();

/// threads: at most so many; 0: as many as set_threads() says.
void quantize(const block_type &type, const float *x, std::int64_t blocks, std::uint8_t *to, int threads);
void dequantize(const block_type &type, const std::uint8_t *from, std::int64_t blocks, float *y, int threads);

} // namespace exactquant::ggml

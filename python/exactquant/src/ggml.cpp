// The formulas are those of ggml (ggml-quants.c, quantize_row_*_ref and dequantize_row_*) and of its Python package
// gguf, in float32, each operation rounded. Loops of 32 have constant counts, so that compilers make vectors of them.
#include "ggml.hpp"

#include <algorithm>
#include <array>
#include <bit>
#include <cmath>
#include <cstring>
#include <limits>
#include <vector>

#include "ggml_loops.hpp"
#include "parallel/parallel.hpp"

namespace exactquant::ggml {
namespace {

using dynquant::float16;

constexpr std::int64_t block = 32;
constexpr int half = 16; // the codes of elements i and i + 16 share a byte

using values = std::array<float, block>;
using codes = std::array<std::int32_t, block>;

[[gnu::always_inline]] inline values load(const float *x) {
    values v;
    std::memcpy(v.data(), x, sizeof v);
    return v;
}

/// The largest magnitude. Floats without their sign are ordered as their bits are, and maxima of integers are vectors.
[[gnu::always_inline]] inline float largest_magnitude(const values &x) {
    std::int32_t most = 0;
    for (const auto v : x)
        most = std::max(most, std::bit_cast<std::int32_t>(v) & 0x7fffffff);
    return std::bit_cast<float>(most);
}

/// The first element of the largest magnitude.
[[gnu::always_inline]] inline float first_largest(const values &x) {
    const auto most = largest_magnitude(x);
    std::int32_t first = block - 1;
    for (std::int32_t i = 0; i < block; ++i) {
        const auto at = std::fabs(x[static_cast<std::size_t>(i)]) == most ? i : block - 1;
        first = std::min<std::int32_t>(first, static_cast<std::int32_t>(at));
    }
    return x[static_cast<std::size_t>(first)];
}

/// Bits that are ordered as floats are, and back.
[[gnu::always_inline]] inline std::int32_t ordered(std::int32_t bits) {
    return bits ^ ((bits >> 31) & 0x7fffffff);
}

struct extremes {
    float least, most;
};

[[gnu::always_inline]] inline extremes extremes_of(const values &x) {
    auto least = std::numeric_limits<std::int32_t>::max(), most = std::numeric_limits<std::int32_t>::min();
    for (const auto v : x) {
        least = std::min(least, ordered(std::bit_cast<std::int32_t>(v)));
        most = std::max(most, ordered(std::bit_cast<std::int32_t>(v)));
    }
    extremes result {std::bit_cast<float>(ordered(least)), std::bit_cast<float>(ordered(most))};
    // Of zeros with both signs ggml keeps the first.
    if (result.least == 0) result.least = *std::ranges::find(x, 0.0F);
    return result;
}

[[gnu::always_inline]] inline float inverse(float d) {
    return d == 0 ? 0.0F : 1 / d;
}

/// Whether codes are 0 because the scale or its inverse overflows, as the conversion of infinity gives them in gguf.
[[gnu::always_inline]] inline bool overflows(float d, float by) {
    return !std::isfinite(d) || !std::isfinite(by);
}

// Vectors of the compiler's, so that codes stay in registers: what is stored in parts is loaded as one only after a
// wait.
using sixteen_integers [[gnu::vector_size(64)]] = std::int32_t;

[[gnu::always_inline]] inline void widen(const bytes &from, std::int32_t *to) {
    const auto wide = __builtin_convertvector(from, sixteen_integers);
    std::memcpy(to, &wide, sizeof wide);
}

/// The low bytes.
[[gnu::always_inline]] inline bytes narrow(const std::int32_t *from) {
    sixteen_integers wide;
    std::memcpy(&wide, from, sizeof wide);
    return __builtin_convertvector(wide, bytes);
}

/// Two codes of four bits to a byte.
[[gnu::always_inline]] inline void store_nibbles(std::uint8_t *to, const codes &q) {
    const auto bytes = (narrow(q.data()) & 15) | narrow(q.data() + half) << 4;
    std::memcpy(to, &bytes, sizeof bytes);
}

[[gnu::always_inline]] inline codes load_nibbles(const std::uint8_t *from) {
    bytes bytes;
    std::memcpy(&bytes, from, sizeof bytes);
    codes q;
    widen(bytes & 15, q.data());
    widen(bytes >> 4, q.data() + half);
    return q;
}

/// The fifth bits of the codes.
[[gnu::always_inline]] inline void store_fifth_bits(std::uint8_t *to, const codes &q) {
    std::uint32_t bits = 0;
    for (std::size_t i = 0; i < block; ++i)
        bits |= static_cast<std::uint32_t>(q[i] >> 4) << i;
    std::memcpy(to, &bits, sizeof bits);
}

[[gnu::always_inline]] inline void add_fifth_bits(codes &q, const std::uint8_t *from) {
    std::uint32_t bits = 0;
    std::memcpy(&bits, from, sizeof bits);
    for (std::size_t i = 0; i < block; ++i)
        q[i] |= static_cast<std::int32_t>(bits >> i & 1) << 4;
}

/// Codes from -offset on, of a scale whose sign is that of the first largest element.
template <int offset>
[[gnu::always_inline]] inline codes quantize_symmetric(const values &x, float &d) {
    d = first_largest(x) / -offset;
    const auto by = inverse(d);
    if (overflows(d, by)) return {};
    codes q;
    for (std::size_t i = 0; i < block; ++i)
        q[i] = std::min(static_cast<std::int32_t>(x[i] * by + (offset + 0.5F)), 2 * offset - 1);
    return q;
}

/// Codes up to `most`, from the least element on.
template <int most>
[[gnu::always_inline]] inline codes quantize_from_least(const values &x, float &d, float &least) {
    const auto e = extremes_of(x);
    least = e.least;
    d = (e.most - least) / most;
    const auto by = inverse(d);
    if (overflows(d, by)) return {};
    codes q;
    for (std::size_t i = 0; i < block; ++i)
        q[i] = std::min(static_cast<std::int32_t>((x[i] - least) * by + 0.5F), most);
    return q;
}

/// Signed bytes, halves rounded away from zero, as roundf() does: adding the number before a half, and not a half,
/// leaves no number below a half one more.
[[gnu::always_inline]] inline codes quantize_bytes_by(const values &x, float by) {
    codes q;
    for (std::size_t i = 0; i < block; ++i) {
        const auto v = x[i] * by;
        q[i] = static_cast<std::int32_t>(v + std::copysign(0x1.fffffep-2F, v));
    }
    return q;
}

[[gnu::always_inline]] inline codes quantize_bytes(const values &x, float &d) {
    d = largest_magnitude(x) / 127;
    const auto by = inverse(d);
    return overflows(d, by) ? codes {} : quantize_bytes_by(x, by);
}

[[gnu::always_inline]] inline void store_bytes(std::uint8_t *to, const codes &q) {
    for (std::size_t i = 0; i < 2; ++i) {
        const auto bytes = narrow(q.data() + half * i);
        std::memcpy(to + half * i, &bytes, sizeof bytes);
    }
}

EXACTQUANT_LOOPS void quantize_q4_0(const float *x, std::int64_t blocks, std::uint8_t *to) {
    for (; blocks > 0; --blocks, x += block, to += 18) {
        float d = 0;
        const auto q = quantize_symmetric<8>(load(x), d);
        store_half(to, d);
        store_nibbles(to + 2, q);
    }
}

EXACTQUANT_LOOPS void quantize_q4_1(const float *x, std::int64_t blocks, std::uint8_t *to) {
    for (; blocks > 0; --blocks, x += block, to += 20) {
        float d = 0, least = 0;
        const auto q = quantize_from_least<15>(load(x), d, least);
        store_half(to, d);
        store_half(to + 2, least);
        store_nibbles(to + 4, q);
    }
}

EXACTQUANT_LOOPS void quantize_q5_0(const float *x, std::int64_t blocks, std::uint8_t *to) {
    for (; blocks > 0; --blocks, x += block, to += 22) {
        float d = 0;
        const auto q = quantize_symmetric<16>(load(x), d);
        store_half(to, d);
        store_fifth_bits(to + 2, q);
        store_nibbles(to + 6, q);
    }
}

EXACTQUANT_LOOPS void quantize_q5_1(const float *x, std::int64_t blocks, std::uint8_t *to) {
    for (; blocks > 0; --blocks, x += block, to += 24) {
        float d = 0, least = 0;
        const auto q = quantize_from_least<31>(load(x), d, least);
        store_half(to, d);
        store_half(to + 2, least);
        store_fifth_bits(to + 4, q);
        store_nibbles(to + 8, q);
    }
}

/// float16 of a number that is not negative, in operations that are vectors: subnormal ones by a sum that rounds at
/// their last bit, others by rounding the bits that are dropped.
[[gnu::always_inline]] inline std::uint32_t half_bits(float value) {
    const auto bits = std::bit_cast<std::uint32_t>(value);
    const auto subnormal = std::bit_cast<std::uint32_t>(value + 0.5F) - std::bit_cast<std::uint32_t>(0.5F);
    const auto normal = (bits - (112U << 23) + 0xfff + (bits >> 13 & 1)) >> 13;
    const auto special = bits > 0x7f800000 ? 0x7e00U : 0x7c00U;
    return bits < 0x38800000 ? subnormal : bits < 0x47800000 ? normal : special;
}

/// The scales of sixteen blocks are vectors.
EXACTQUANT_LOOPS void quantize_q8_0(const float *x, std::int64_t blocks, std::uint8_t *to) {
    constexpr std::size_t most = 16;
    for (std::size_t count = 0; blocks > 0;
            blocks -= static_cast<std::int64_t>(count), x += count * block, to += count * 34) {
        count = std::min(most, static_cast<std::size_t>(blocks));
        std::array<float, most> d = {}, by;
        std::array<std::uint32_t, most> bits;
        for (std::size_t b = 0; b < count; ++b)
            d[b] = largest_magnitude(load(x + b * block));
        for (std::size_t b = 0; b < most; ++b) {
            d[b] /= 127;
            by[b] = inverse(d[b]);
            by[b] = overflows(d[b], by[b]) ? 0 : by[b]; // its codes are 0
            bits[b] = half_bits(d[b]);
        }
        for (std::size_t b = 0; b < count; ++b) {
            const auto half_scale = static_cast<std::uint16_t>(bits[b]);
            std::memcpy(to + b * 34, &half_scale, sizeof half_scale);
            store_bytes(to + b * 34 + 2, by[b] == 0 ? codes {} : quantize_bytes_by(load(x + b * block), by[b]));
        }
    }
}

EXACTQUANT_LOOPS void quantize_q8_1(const float *x, std::int64_t blocks, std::uint8_t *to) {
    for (; blocks > 0; --blocks, x += block, to += 36) {
        float d = 0;
        const auto q = quantize_bytes(load(x), d);
        std::int32_t sum = 0;
        for (const auto code : q)
            sum += code;
        store_half(to, d);
        store_half(to + 2, static_cast<float>(sum) * d);
        store_bytes(to + 4, q);
    }
}

/// Half of an E8M0 scale: codes are doubled, so that they are integers.
[[gnu::always_inline]] inline float half_of_e8m0(std::uint8_t e) {
    return std::bit_cast<float>(e < 2 ? 0x00200000U << e : static_cast<std::uint32_t>(e - 1) << 23);
}

EXACTQUANT_LOOPS void quantize_mxfp4(const float *x, std::int64_t blocks, std::uint8_t *to) {
    for (; blocks > 0; --blocks, x += block, to += 17) {
        const auto v = load(x);
        const auto most = largest_magnitude(v);
        const auto e = most > 0 ? std::max(static_cast<int>(std::floor(std::log2(most))) - 2 + 127, 0) : 0;
        to[0] = static_cast<std::uint8_t>(e);
        const auto d = half_of_e8m0(to[0]);
        // The nearest of the doubled codes 0, 1, 2, 3, 4, 6, 8, 12, of two the smaller. Half-way points are exact.
        codes q = {};
        for (const auto point : {0.5F, 1.5F, 2.5F, 3.5F, 5.0F, 7.0F, 10.0F})
            for (std::size_t i = 0; i < block; ++i)
                q[i] += std::fabs(v[i]) > d * point ? 1 : 0;
        for (std::size_t i = 0; i < block; ++i)
            q[i] += (v[i] < 0 ? 8 : 0) & (q[i] > 0 ? 8 : 0);
        store_nibbles(to + 1, q);
    }
}

/// bf16, to nearest even; a NaN stays one, and quiet.
EXACTQUANT_LOOPS void quantize_bf16(const float *x, std::int64_t count, std::uint8_t *to) {
    for (std::int64_t i = 0; i < count; ++i) {
        const auto bits = std::bit_cast<std::uint32_t>(x[i]);
        const auto is_nan = (bits & 0x7fffffff) > 0x7f800000;
        const auto rounded =
                static_cast<std::uint16_t>(is_nan ? bits >> 16 | 64 : (bits + (0x7fff + (bits >> 16 & 1))) >> 16);
        std::memcpy(to + 2 * i, &rounded, sizeof rounded);
    }
}

EXACTQUANT_LOOPS void dequantize_q4_0(const std::uint8_t *from, std::int64_t blocks, float *y) {
    for (; blocks > 0; --blocks, from += 18, y += block) {
        const auto d = load_half(from);
        const auto q = load_nibbles(from + 2);
        for (std::size_t i = 0; i < block; ++i)
            y[i] = d * static_cast<float>(q[i] - 8);
    }
}

EXACTQUANT_LOOPS void dequantize_q4_1(const std::uint8_t *from, std::int64_t blocks, float *y) {
    for (; blocks > 0; --blocks, from += 20, y += block) {
        const auto d = load_half(from), least = load_half(from + 2);
        const auto q = load_nibbles(from + 4);
        for (std::size_t i = 0; i < block; ++i)
            y[i] = d * static_cast<float>(q[i]) + least;
    }
}

EXACTQUANT_LOOPS void dequantize_q5_0(const std::uint8_t *from, std::int64_t blocks, float *y) {
    for (; blocks > 0; --blocks, from += 22, y += block) {
        const auto d = load_half(from);
        auto q = load_nibbles(from + 6);
        add_fifth_bits(q, from + 2);
        for (std::size_t i = 0; i < block; ++i)
            y[i] = d * static_cast<float>(q[i] - 16);
    }
}

EXACTQUANT_LOOPS void dequantize_q5_1(const std::uint8_t *from, std::int64_t blocks, float *y) {
    for (; blocks > 0; --blocks, from += 24, y += block) {
        const auto d = load_half(from), least = load_half(from + 2);
        auto q = load_nibbles(from + 8);
        add_fifth_bits(q, from + 4);
        for (std::size_t i = 0; i < block; ++i)
            y[i] = d * static_cast<float>(q[i]) + least;
    }
}

template <int bytes>
[[gnu::always_inline]] inline void dequantize_bytes(const std::uint8_t *from, std::int64_t blocks, float *y) {
    for (; blocks > 0; --blocks, from += bytes, y += block) {
        const auto d = load_half(from);
        for (std::size_t i = 0; i < block; ++i)
            y[i] = static_cast<float>(static_cast<std::int8_t>(from[bytes - block + i])) * d;
    }
}
EXACTQUANT_LOOPS void dequantize_q8_0(const std::uint8_t *from, std::int64_t blocks, float *y) {
    dequantize_bytes<34>(from, blocks, y);
}
EXACTQUANT_LOOPS void dequantize_q8_1(const std::uint8_t *from, std::int64_t blocks, float *y) {
    dequantize_bytes<36>(from, blocks, y);
}

/// A code of E2M1, doubled: 0, 1, 2, 3, 4, 6, 8, 12 and the same below 0, without branches.
[[gnu::always_inline]] inline float doubled_e2m1(std::int32_t code) {
    const auto m = code & 7;
    const auto doubled = m + (m > 4 ? 1 : 0) + (m > 5 ? 1 : 0) + (m > 6 ? 3 : 0);
    return static_cast<float>(doubled * (1 - (code >> 2 & 2)));
}

EXACTQUANT_LOOPS void dequantize_mxfp4(const std::uint8_t *from, std::int64_t blocks, float *y) {
    for (; blocks > 0; --blocks, from += 17, y += block) {
        const auto d = half_of_e8m0(from[0]);
        const auto q = load_nibbles(from + 1);
        for (std::size_t i = 0; i < block; ++i)
            y[i] = d * doubled_e2m1(q[i]);
    }
}

/// Half of an unsigned E4M3 scale. 0x7f is 0, and the highest bit is not read.
[[gnu::always_inline]] inline float half_of_ue4m3(std::uint8_t bits) {
    if (bits == 0 || bits == 0x7f) return 0;
    const std::uint32_t exponent = bits >> 3 & 15, mantissa = bits & 7;
    return exponent == 0 ? static_cast<float>(mantissa) * 0x1p-10F
                         : std::bit_cast<float>((exponent + 127 - 8) << 23 | mantissa << 20);
}

/// Four scales, then four times 16 codes, whose halves share bytes.
EXACTQUANT_LOOPS void dequantize_nvfp4(const std::uint8_t *from, std::int64_t blocks, float *y) {
    for (; blocks > 0; --blocks, from += 36)
        for (std::size_t part = 0; part < 4; ++part, y += 16) {
            const auto d = half_of_ue4m3(from[part]);
            std::array<std::uint8_t, 16> q; // the codes of a part in eight bytes
            for (std::size_t i = 0; i < 8; ++i)
                q[i] = from[4 + 8 * part + i] & 15;
            for (std::size_t i = 0; i < 8; ++i)
                q[8 + i] = from[4 + 8 * part + i] >> 4;
            for (std::size_t i = 0; i < 16; ++i)
                y[i] = d * doubled_e2m1(q[i]);
        }
}

EXACTQUANT_LOOPS void dequantize_bf16(const std::uint8_t *from, std::int64_t count, float *y) {
    for (std::int64_t i = 0; i < count; ++i) {
        std::uint16_t bits = 0;
        std::memcpy(&bits, from + 2 * i, sizeof bits);
        y[i] = std::bit_cast<float>(static_cast<std::uint32_t>(bits) << 16);
    }
}

constexpr block_type all[] = {
        {"Q4_0", 32, 18, quantize_q4_0, dequantize_q4_0},
        {"Q4_1", 32, 20, quantize_q4_1, dequantize_q4_1},
        {"Q5_0", 32, 22, quantize_q5_0, dequantize_q5_0},
        {"Q5_1", 32, 24, quantize_q5_1, dequantize_q5_1},
        {"Q8_0", 32, 34, quantize_q8_0, dequantize_q8_0},
        {"Q8_1", 32, 36, quantize_q8_1, dequantize_q8_1},
        {"MXFP4", 32, 17, quantize_mxfp4, dequantize_mxfp4},
        {"NVFP4", 64, 36, nullptr, dequantize_nvfp4},
        {"BF16", 1, 2, quantize_bf16, dequantize_bf16},
};

template <typename F>
void in_parts(std::int64_t blocks, std::int64_t elements, int threads, F f) {
    const auto parts = std::min<std::int64_t>(dynquant::parallel::parts_for(blocks * elements, threads), blocks);
    if (parts > 0) dynquant::parallel::for_each_part(blocks, static_cast<int>(parts), f);
}

} // namespace

std::span<const block_type> types() {
    static const auto joined = [] {
        std::vector<block_type> result(std::begin(all), std::end(all));
        for (const auto others : {types_of_coded_scales(), ternary_types()})
            result.insert(result.end(), others.begin(), others.end());
        return result;
    }();
    return joined;
}

void quantize(const block_type &type, const float *x, std::int64_t blocks, std::uint8_t *to, int threads) {
    in_parts(blocks, type.elements, threads, [&](dynquant::parallel::range part) {
        type.quantize(x + part.begin * type.elements, part.end - part.begin, to + part.begin * type.bytes);
    });
}

void dequantize(const block_type &type, const std::uint8_t *from, std::int64_t blocks, float *y, int threads) {
    in_parts(blocks, type.elements, threads, [&](dynquant::parallel::range part) {
        type.dequantize(from + part.begin * type.bytes, part.end - part.begin, y + part.begin * type.elements);
    });
}

} // namespace exactquant::ggml

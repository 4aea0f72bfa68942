// The native kernel's row algorithms without the arithmetic: what they load is stored, in the way in which they
// store it. Heads, tails, tiles and streaming are the native kernel's own.
//
// An instruction set is the native kernel's type of primitives with those replaced that convert:
// - load of 8-bit elements: the bytes as they are, for every quarter of a vector;
// - store, stream and store_partial to 8-bit elements: the four vectors joined by OR, so that no load is dropped.
#pragma once

#include <cstdint>

#include "kernels/native/rows.hpp"

namespace dqbench::limit {
namespace {

namespace native = dynquant::kernels::native;

/// In place of a formula.
template <typename V>
struct no_arithmetic {
    static no_arithmetic from(const auto &, const auto &) { return {}; }

    typename V::reals operator()(typename V::reals x) const { return x; }
    typename V::reals operator()(typename V::integers x) const { return V::as_reals(x); }
};

/// Which formula a stretch of parameters takes: always the same.
template <typename V>
struct one_formula {
    template <typename Run>
    static void with_formula(const auto &, const Run &run) {
        run(no_arithmetic<V> {});
    }
    template <typename Run>
    static void with_constant_formula(const auto &, std::int64_t, const Run &run) {
        run(no_arithmetic<V> {});
    }
};

template <typename V>
struct quantizer : one_formula<V>, native::quantizing_runs<V, float, std::uint8_t> {};

template <typename V>
struct dequantizer : one_formula<V>, native::dequantizing_runs<V, std::uint8_t> {};

/// How many bits an element has; the traits of types are not for code of one instruction set.
inline std::int64_t bits_of(dynquant::data_type type) {
    using enum dynquant::data_type;
    switch (type) {
        case s2:
        case u2: return 2;
        case s4:
        case u4:
        case f4_e2m1: return 4;
        case f16:
        case bf16:
        case s16:
        case u16: return 16;
        case f32:
        case s32:
        case u32: return 32;
        default: return 8;
    }
}

/// Rows that the native kernel converts: src read and dst written from the first byte to the last, whatever the
/// layouts, as nothing can be faster. Ends shorter than a vector are left out.
template <typename V>
class converted_traffic {
  public:
    converted_traffic(const native::call &of, const native::rectangle &r)
        : c(of) {
        const auto across = of.shape->form.row.extent;
        const auto first = r.row_begin * across + r.column_begin;
        const auto elements = (r.row_end - r.row_begin) * (r.column_end - r.column_begin);
        const auto src_bits = bits_of(of.src_type), dst_bits = bits_of(of.dst_type);
        loads = src_bits > dst_bits ? src_bits / dst_bits : 1;
        stores = dst_bits > src_bits ? dst_bits / src_bits : 1;
        src = static_cast<const char *>(of.src) + first * src_bits / 8;
        auto *const begin = static_cast<char *>(of.dst) + first * dst_bits / 8;
        const auto head = native::unaligned_head<vector>(begin, vector);
        dst = begin + head;
        steps = (elements * dst_bits / 8 - head) / (stores * vector);
    }

    void run() const {
        const auto *from = src;
        auto *to = dst;
        for (std::int64_t i = 0; i < steps; ++i) {
            auto sum = load(from);
            for (std::int64_t k = 1; k < loads; ++k)
                sum = V::add(sum, load(from + k * vector));
            from += loads * vector;
            for (std::int64_t k = 0; k < stores; ++k, to += vector)
                if (c.streaming)
                    V::stream(reinterpret_cast<float *>(to), sum);
                else
                    V::store(reinterpret_cast<float *>(to), sum);
        }
    }

  private:
    static constexpr std::int64_t vector = V::lanes * 4, page = 4096;

    static typename V::reals load(const char *p) {
        __builtin_prefetch(p + page);
        return V::load(reinterpret_cast<const float *>(p));
    }

    const native::call &c;
    const char *src;
    char *dst;
    std::int64_t loads, stores, steps;
};

template <typename V>
void converted(const native::call &c, const native::rectangle &r) {
    converted_traffic<V>(c, r).run();
    if (c.streaming) V::fence();
    V::leave();
}

// Signs and numerics make no difference here, nor what 32 bits of src mean.

template <typename V>
constexpr native::row_function quantize = native::rows<V, quantizer<V>>;

template <typename V>
constexpr native::requantize_row_functions requantize = {
        {quantize<V>, quantize<V>, quantize<V>}, {quantize<V>, quantize<V>, quantize<V>}};

template <typename V>
constexpr native::onnx_row_functions onnx = {converted<V>, converted<V>, converted<V>};

template <typename V>
constexpr native::row_functions rows_for() {
    constexpr auto q = quantize<V>, d = native::rows<V, dequantizer<V>>;
    return {q, q, q, q, q, q, d, d, converted<V>, converted<V>, converted<V>, &requantize<V>, &onnx<V>};
}

} // namespace
} // namespace dqbench::limit

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
    static no_arithmetic from(const native::parameter_table &, const auto &) { return {}; }

    typename V::reals operator()(typename V::reals x) const { return x; }
    typename V::reals operator()(typename V::integers x) const { return V::as_reals(x); }
};

/// Which formula a stretch of parameters takes: always the same.
template <typename V>
struct one_formula {
    template <typename Run>
    static void with_formula(const native::parameter_table &, const Run &run) {
        run(no_arithmetic<V> {});
    }
    template <typename Run>
    static void with_constant_formula(const native::parameter_table &, std::int64_t, const Run &run) {
        run(no_arithmetic<V> {});
    }
};

template <typename V>
struct quantizer : one_formula<V> {
    using source = float;
    using destination = std::uint8_t;

    template <native::storing Storing, typename FormulaAt>
    static void run(
            const source *src, destination *dst, std::int64_t count, std::int64_t lead, const FormulaAt &formula_at) {
        native::quantize_run<V, Storing>(src, dst, count, lead, formula_at);
    }
    template <typename FormulaAt>
    static void run_pair(const source *src, std::int64_t src_step, destination *dst, std::int64_t dst_step,
            std::int64_t count, const FormulaAt &formula_at) {
        native::quantize_pair<V>(src, src_step, dst, dst_step, count, formula_at);
    }
};

template <typename V>
struct dequantizer : one_formula<V> {
    using source = std::uint8_t;
    using destination = float;

    template <native::storing Storing, typename FormulaAt>
    static void run(const source *src, destination *dst, std::int64_t count, std::int64_t /*lead*/,
            const FormulaAt &formula_at) {
        native::dequantize_run<V, Storing>(src, dst, count, formula_at);
    }
    template <typename FormulaAt>
    static void run_pair(const source *src, std::int64_t src_step, destination *dst, std::int64_t dst_step,
            std::int64_t count, const FormulaAt &formula_at) {
        native::dequantize_pair<V>(src, src_step, dst, dst_step, count, formula_at);
    }
};

/// Signs and numerics make no difference here.
template <typename V>
constexpr native::row_functions rows_for() {
    constexpr auto quantize = native::rows<V, quantizer<V>>, dequantize = native::rows<V, dequantizer<V>>;
    return {quantize, quantize, quantize, quantize, dequantize, dequantize};
}

} // namespace
} // namespace dqbench::limit

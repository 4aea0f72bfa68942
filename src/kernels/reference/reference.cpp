// The reference kernel, which defines correct results: each element by its index and the formula, on one thread. With
// the other kernels it shares the statement, shapes and how an element is read.
#include "elements/load_store.hpp"
#include "elements/table.hpp"
#include "kernels/kernel.hpp"
#include "parallel/float_control.hpp"
#include "quantization/computed.hpp"
#include "quantization/numerics.hpp"
#include "quantization/shape.hpp"

namespace dynquant::kernels {
namespace {

/// A statement and what its loops need. It is made at prepare, so that a run allocates nothing.
struct statement {
    quantization q;
    dims src_strides, dst_strides;
    dims parameters, parameter_strides; // along each dim
    std::int64_t elements, parameter_count;

    explicit statement(quantization stated)
        : q(std::move(stated))
        , src_strides(strides_of(q.src))
        , dst_strides(strides_of(q.dst))
        , parameters(parameter_dims(q.src.dims, q.scales.block))
        , parameter_strides(row_major(parameters))
        , elements(*volume(q.src.dims))
        , parameter_count(*volume(parameters)) {}
};

/// Calls f(src offset, dst offset, parameter index) for each element.
template <typename F>
void for_each_element(const statement &s, F &&f) {
    const auto &extents = s.q.src.dims, &block = s.q.scales.block;
    for (std::int64_t linear = 0; linear < s.elements; ++linear) {
        std::int64_t src = 0, dst = 0, parameter = 0, rest = linear;
        for (std::size_t d = extents.size(); d-- > 0;) {
            const auto index = rest % extents[d];
            rest /= extents[d];
            src += index * s.src_strides[d];
            dst += index * s.dst_strides[d];
            parameter += index / block[d] * s.parameter_strides[d];
        }
        f(src, dst, parameter);
    }
}

std::int64_t zero_point(const quantization &q, const arguments &a, std::int64_t i) {
    return q.zero_points ? static_cast<std::int64_t>(load(q.zero_points->type, a.zero_points, i)) : 0;
}

// Every real fits in f32, except for s32 scales, which are rounded.
float real(data_type type, const void *buffer, std::int64_t i) {
    return static_cast<float>(load(type, buffer, i));
}

// This function and the next ones are not inlined, so that compilers do not move arithmetic out of float_control's
// scope.
[[gnu::noinline]] void quantize(const statement &stated, const arguments &a) {
    const auto &q = stated.q;
    const auto &type = traits(q.dst.type);
    const auto lowest = static_cast<float>(type.lowest), highest = static_cast<float>(type.highest);
    for_each_element(stated, [&](auto i, auto o, auto p) {
        const float x = real(q.src.type, a.src, i), s = real(q.scales.type, a.scales, p);
        if (type.integral)
            store(q.dst.type, a.dst, o,
                    numerics_contract::quantize(x, s, static_cast<std::int32_t>(zero_point(q, a, p)), lowest, highest));
        else
            store(q.dst.type, a.dst, o, numerics_contract::quantize_to_float8(x, s));
    });
}

[[gnu::noinline]] void quantize_onnx(const statement &stated, const arguments &a) {
    const auto &q = stated.q;
    const auto &type = traits(q.dst.type);
    for_each_element(stated, [&](auto i, auto o, auto p) {
        const double quotient =
                numerics_contract::quotient(load(q.src.type, a.src, i), load(q.scales.type, a.scales, p), q.division);
        if (type.integral)
            return store(q.dst.type, a.dst, o,
                    static_cast<double>(numerics_contract::quantize_onnx(
                            quotient, zero_point(q, a, p), type.lowest, type.highest)));
        const double sum = q.zero_points
                ? numerics_contract::add_zero_point(quotient, load(q.zero_points->type, a.zero_points, p), q.division)
                : quotient;
        store(q.dst.type, a.dst, o, numerics_contract::round_to_odd(sum), q.saturate);
    });
}

/// Calls f(src offset, dst offset) for each element of the block of parameter number `parameter`.
template <typename F>
void for_each_of_block(const statement &s, std::int64_t parameter, F &&f) {
    const auto &extents = s.q.src.dims, &block = s.q.scales.block;
    std::int64_t first[max_rank], box[max_rank], count = 1;
    for (std::size_t d = extents.size(); d-- > 0;) {
        first[d] = parameter % s.parameters[d] * block[d];
        box[d] = std::min(block[d], extents[d] - first[d]);
        count *= box[d];
        parameter /= s.parameters[d];
    }
    for (std::int64_t linear = 0; linear < count; ++linear) {
        std::int64_t src = 0, dst = 0, rest = linear;
        for (std::size_t d = extents.size(); d-- > 0;) {
            const auto index = first[d] + rest % box[d];
            rest /= box[d];
            src += index * s.src_strides[d];
            dst += index * s.dst_strides[d];
        }
        f(src, dst);
    }
}

[[gnu::noinline]] void quantize_by_computed_scales(const statement &stated, const arguments &a) {
    const auto &q = stated.q;
    const numerics_contract::scale_formula formula(q);
    const float global = q.second_scales ? real(q.second_scales->type, a.second_scales, 0) : 1;
    for (std::int64_t p = 0; p < stated.parameter_count; ++p) {
        numerics_contract::value_range values;
        for_each_of_block(stated, p, [&](auto i, auto) {
            const float x = real(q.src.type, a.src, i);
            if (formula.rule.special == nonfinite::propagate || std::isfinite(x)) values.add(x);
        });
        const float range = formula.range(values), scale = formula.scale(range, global);
        const float operand = formula.operand(range, scale, global);
        const auto zero_point = q.zero_points ? formula.zero_point(values.low, scale) : 0;
        store(q.scales.type, a.computed_scales, p, scale);
        if (q.zero_points) store(q.zero_points->type, a.computed_zero_points, p, zero_point);
        if (formula.rule.scales_only) continue;
        for_each_of_block(stated, p, [&](auto i, auto o) {
            const float quotient = formula.quotient(real(q.src.type, a.src, i), operand);
            if (formula.integral)
                store(q.dst.type, a.dst, o, static_cast<double>(formula.code(quotient, zero_point)));
            else
                store(q.dst.type, a.dst, o, quotient, q.saturate);
        });
    }
}

float dequantize_float(const quantization &q, const arguments &a, float x, float s, std::int64_t p) {
    if (!q.zero_points) return numerics_contract::dequantize_float(x, s);
    return numerics_contract::dequantize_float(x, s, real(q.zero_points->type, a.zero_points, p));
}

[[gnu::noinline]] void dequantize(const statement &stated, const arguments &a) {
    const auto &q = stated.q;
    const float global = q.second_scales ? real(q.second_scales->type, a.second_scales, 0) : 1;
    const bool integral = traits(q.src.type).integral;
    for_each_element(stated, [&](auto i, auto o, auto p) {
        const double x = load(q.src.type, a.src, i);
        const float s = real(q.scales.type, a.scales, p) * global;
        const float result = integral
                ? numerics_contract::dequantize(static_cast<std::int64_t>(x), s, zero_point(q, a, p))
                : dequantize_float(q, a, static_cast<float>(x), s, p);
        store(q.dst.type, a.dst, o, result);
    });
}

class reference_implementation final : public implementation {
  public:
    explicit reference_implementation(const quantization &q)
        : statement_(q) {}

    operation_info info() const override { return {kernel_kind::reference, "scalar"}; }

    void run(const arguments &args) const override {
        const parallel::float_control control;
        const auto &q = statement_.q;
        if (q.computed) return quantize_by_computed_scales(statement_, args);
        if (q.dir == direction::dequantize) return dequantize(statement_, args);
        q.rule == numerics::onnx ? quantize_onnx(statement_, args) : quantize(statement_, args);
    }

  private:
    statement statement_;
};

attempt prepare(const quantization &q, const settings &) {
    return {std::make_unique<reference_implementation>(q)};
}

} // namespace

constinit const kernel reference_kernel = {kernel_kind::reference, prepare};

} // namespace dynquant::kernels

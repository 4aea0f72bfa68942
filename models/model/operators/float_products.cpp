// MatMul, Gemm and Conv of floats, for the calibration of float models. Sums are in f64 and rounded once, so that
// results do not depend on the machine. Not optimized.

#include "model/operators/operators.hpp"
#include "model/operators/products.hpp"
#include "parallel/parallel.hpp"
#include "quantization/shape.hpp"

namespace dynquant::models {
namespace {

const float *floats(const void *data) {
    return static_cast<const float *>(data);
}

/// Calls f(i) for each i below count, on several threads where the total number of multiplications is worth it.
template <typename F>
void for_each(std::int64_t count, std::int64_t multiplications, const F &f) {
    parallel::for_each_part(count, parallel::parts_for_items(count, multiplications), [&](parallel::range part) {
        for (auto i = part.begin; i < part.end; ++i)
            f(i);
    });
}

// ---- MatMul and Gemm ----

/// y[m][n] = alpha * sum over k of a[m][k] b[k][n], plus beta * c[m][n]; strides in elements.
struct product {
    std::int64_t rows, inner, columns;
    std::int64_t a_row, a_inner, b_inner, b_column;
    float alpha = 1, beta = 0;
    std::int64_t c_row = 0, c_column = 0;

    /// c may be null.
    void run(const float *a, const float *b, const float *c, float *y) const {
        for_each(rows, rows * inner * columns, [&](std::int64_t m) {
            for (std::int64_t n = 0; n < columns; ++n) {
                double sum = 0;
                for (std::int64_t k = 0; k < inner; ++k)
                    sum += static_cast<double>(a[m * a_row + k * a_inner]) * b[k * b_inner + n * b_column];
                sum *= alpha;
                if (c) sum += static_cast<double>(beta) * c[m * c_row + n * c_column];
                y[m * columns + n] = static_cast<float>(sum);
            }
        });
    }
};

product plan_gemm(const op_node &n) {
    const auto &a = n.shape(0), &b = n.shape(1);
    if (a.size() != 2)
        n.refuse(status::invalid_shape, n.name(0), ": expected 2 dimensions, given shape ", to_string(a));
    const bool transpose_a = n.integer("transA", 0) != 0, transpose_b = n.integer("transB", 0) != 0;
    const auto rows = a[transpose_a ? 1 : 0], inner = a[transpose_a ? 0 : 1];
    if (b.size() != 2 || b[transpose_b ? 1 : 0] != inner)
        n.refuse(status::invalid_shape, n.name(1), ": expected shape ", transpose_b ? "[n, " : "[", inner,
                transpose_b ? "]" : ", n]", " for ", n.name(0), " of shape ", to_string(a), ", given shape ",
                to_string(b));
    const auto columns = b[transpose_b ? 0 : 1];
    product p {rows, inner, columns, transpose_a ? 1 : inner, transpose_a ? rows : 1, transpose_b ? 1 : columns,
            transpose_b ? inner : 1, n.real("alpha", 1), n.real("beta", 1)};
    if (!n.has(2)) return p;
    const auto &c = n.shape(2);
    const auto extent = [&](std::size_t from_end) { return c.size() < from_end ? 1 : c[c.size() - from_end]; };
    if (c.size() > 2 || (extent(1) != 1 && extent(1) != columns) || (extent(2) != 1 && extent(2) != rows))
        n.refuse(status::invalid_shape, n.name(2), ": expected a shape that broadcasts to [", rows, ", ", columns,
                "], given shape ", to_string(c));
    p.c_column = extent(1) == 1 ? 0 : 1;
    p.c_row = extent(2) == 1 ? 0 : extent(1);
    return p;
}

// ---- Conv ----

struct convolution : convolution_shapes {
    void run(const stage_arguments &args) const {
        const auto positions = *volume(window.y), taps = *volume(window.kernel);
        const auto *bias = args.inputs.size() > 2 ? floats(args.inputs[2]) : nullptr;
        for_each(batch * filters, batch * filters * positions * taps * (channels / groups), [&](std::int64_t i) {
            const auto filter = i % filters;
            const auto *x = floats(args.inputs[0])
                    + (i / filters * channels + filter / (filters / groups) * (channels / groups)) * *volume(window.x);
            const auto *w = floats(args.inputs[1]) + filter * (channels / groups) * taps;
            auto *y = static_cast<float *>(args.output) + i * positions;
            for (std::int64_t at = 0; at < positions; ++at)
                y[at] = static_cast<float>(sum(x, w, at) + (bias ? bias[filter] : 0.0F));
        });
    }

  private:
    /// The sum over one window, for position `at` of y.
    double sum(const float *x, const float *w, std::int64_t at) const {
        const auto taps = *volume(window.kernel), size = *volume(window.x);
        double result = 0;
        for (std::int64_t tap = 0; tap < taps; ++tap) {
            const auto from = offset(at, tap);
            if (from < 0) continue;
            for (std::int64_t c = 0; c < channels / groups; ++c)
                result += static_cast<double>(x[c * size + from]) * w[c * taps + tap];
        }
        return result;
    }

    /// The offset of a tap in a channel of x, or -1 in the padding.
    std::int64_t offset(std::int64_t at, std::int64_t tap) const {
        std::int64_t result = 0, stride = 1;
        for (auto d = window.rank(); d-- > 0;) {
            const auto position = window.position(d, at % window.y[d], tap % window.kernel[d]);
            if (position < 0 || position >= window.x[d]) return -1;
            result += position * stride;
            stride *= window.x[d];
            at /= window.y[d];
            tap /= window.kernel[d];
        }
        return result;
    }
};

convolution plan_convolution_of_floats(const op_node &n) {
    convolution c {plan_convolution(n)};
    if (n.has(2) && n.shape(2) != dims {c.filters})
        n.refuse(status::invalid_shape, n.name(2), ": expected shape ", c.filters, ", given shape ",
                to_string(n.shape(2)));
    return c;
}

} // namespace

tensor_type infer_matmul(const op_node &n) {
    return {onnx::type::float32, plan_matrices(n).y};
}

prepared_node prepare_matmul(const op_node &n, const options &) {
    const auto plan = plan_matrices(n);
    const product p {plan.rows, plan.inner, plan.columns, plan.inner, 1, plan.columns, 1};
    auto run = [=](const stage_arguments &args) {
        const float *a = floats(args.inputs[0]), *b = floats(args.inputs[1]);
        auto *y = static_cast<float *>(args.output);
        for (std::size_t i = 0; i < plan.x_at.size(); ++i, y += p.rows * p.columns)
            p.run(a + plan.x_at[i] * p.rows * p.inner, b + plan.w_at[i] * p.inner * p.columns, nullptr, y);
    };
    return {run, 2};
}

tensor_type infer_gemm(const op_node &n) {
    const auto p = plan_gemm(n);
    return {onnx::type::float32, {p.rows, p.columns}};
}

prepared_node prepare_gemm(const op_node &n, const options &) {
    auto run = [p = plan_gemm(n)](const stage_arguments &args) {
        const float *c = args.inputs.size() > 2 ? floats(args.inputs[2]) : nullptr;
        p.run(floats(args.inputs[0]), floats(args.inputs[1]), c, static_cast<float *>(args.output));
    };
    return {run, n.has(2) ? 3U : 2U};
}

tensor_type infer_conv(const op_node &n) {
    return {onnx::type::float32, plan_convolution_of_floats(n).y()};
}

prepared_node prepare_conv(const op_node &n, const options &) {
    const auto c = plan_convolution_of_floats(n);
    return {[=](const stage_arguments &args) { c.run(args); }, n.has(2) ? 3U : 2U};
}

} // namespace dynquant::models

// The definition of right: every element by its index, by the formula, on one thread. It shares nothing
// with the other kernels but the statement.
#include <vector>

#include "kernels/kernel.hpp"
#include "parallel/float_control.hpp"
#include "quantization/data_type.hpp"
#include "quantization/numerics.hpp"
#include "quantization/shape.hpp"

namespace dynquant::kernels {
namespace {

/// Calls f(src offset, dst offset, parameter index) for each element.
template <typename F>
void for_each_element(const quantization &q, F &&f) {
    const auto &extents = q.src.dims;
    const auto src_strides = strides_of(q.src), dst_strides = strides_of(q.dst);
    const auto parameter_strides = row_major(parameter_dims(extents, q.scales.block));
    const auto count = *volume(extents);
    for (std::int64_t linear = 0; linear < count; ++linear) {
        std::int64_t src = 0, dst = 0, parameter = 0, rest = linear;
        for (std::size_t d = extents.size(); d-- > 0;) {
            const auto index = rest % extents[d];
            rest /= extents[d];
            src += index * src_strides[d];
            dst += index * dst_strides[d];
            parameter += index / q.scales.block[d] * parameter_strides[d];
        }
        f(src, dst, parameter);
    }
}

std::int32_t zero_point(const quantization &q, const void *zero_points, std::int64_t i) {
    if (!q.zero_points) return 0;
    return with_type(q.zero_points->type,
            [&](auto type) { return static_cast<std::int32_t>(static_cast<const decltype(type) *>(zero_points)[i]); });
}

// Not inlined, so that the arithmetic stays within float_control.
[[gnu::noinline]] void quantize(const quantization &q, const arguments &a) {
    const auto *src = static_cast<const float *>(a.src), *scales = static_cast<const float *>(a.scales);
    with_type(q.dst.type, [&](auto type) {
        using integer = decltype(type);
        if constexpr (sizeof(integer) == 1)
            for_each_element(q, [&, dst = static_cast<integer *>(a.dst)](auto i, auto o, auto p) {
                dst[o] = numerics_contract::quantize<integer>(src[i], scales[p], zero_point(q, a.zero_points, p));
            });
    });
}

[[gnu::noinline]] void dequantize(const quantization &q, const arguments &a) {
    const auto *scales = static_cast<const float *>(a.scales);
    auto *dst = static_cast<float *>(a.dst);
    with_type(q.src.type, [&](auto type) {
        using integer = decltype(type);
        if constexpr (sizeof(integer) == 1)
            for_each_element(q, [&, src = static_cast<const integer *>(a.src)](auto i, auto o, auto p) {
                dst[o] = numerics_contract::dequantize(src[i], scales[p], zero_point(q, a.zero_points, p));
            });
    });
}

class reference_implementation final : public implementation {
  public:
    explicit reference_implementation(quantization q)
        : q_(std::move(q)) {}

    operation_info info() const override { return {kernel_kind::reference, "scalar"}; }

    void run(const arguments &args) const override {
        const parallel::float_control control;
        q_.dir == direction::quantize ? quantize(q_, args) : dequantize(q_, args);
    }

  private:
    quantization q_;
};

class reference final : public kernel {
  public:
    kernel_kind kind() const override { return kernel_kind::reference; }
    std::optional<std::string> refusal(const quantization &, const settings &) const override { return {}; }
    std::unique_ptr<implementation> prepare(const quantization &q, const settings &) const override {
        return std::make_unique<reference_implementation>(q);
    }
};

} // namespace

const kernel &reference_kernel() {
    static const reference instance;
    return instance;
}

} // namespace dynquant::kernels

#include "variants.hpp"

#include <algorithm>
#include <cmath>

#include "direct.hpp"

namespace dynquant::test {

std::string variant::name() const {
    const std::string text = to_string(kernel);
    return kernel == kernel_kind::native ? text + "_" + to_string(max_isa) : text;
}

std::ostream &operator<<(std::ostream &out, const variant &v) {
    return out << v.name();
}

std::vector<variant> universal_variants() {
    const auto any = statement_of(direction::quantize, data_type::f32, data_type::u8, {1}, {1});
    std::vector<variant> result;
    for (const auto value : // the processor has those that a cap leaves as they are
            {isa::scalar, isa::avx2, isa::avx512, isa::neon}) {
        const variant native {kernel_kind::native, value};
        if (prepare(any, native.forced()).info().isa == to_string(value)) result.push_back(native);
    }
    result.push_back({kernel_kind::reference, isa::scalar});
    return result;
}

variant onednn_variant() {
    return {kernel_kind::onednn, isa::avx512};
}

std::vector<variant> all_variants() {
    auto result = universal_variants();
    result.push_back(onednn_variant());
    return result;
}

namespace {

/// Whether all types belong to the ops of 8-bit integers.
bool has_8_bit_types(const quantization &q) {
    const auto is = [](data_type type) {
        return type == data_type::f32 || type == data_type::s32 || type == data_type::s8 || type == data_type::u8;
    };
    return is(q.src.type) && is(q.dst.type) && is(q.scales.type) && (!q.zero_points || is(q.zero_points->type));
}

} // namespace

bool onednn_must_compute(const quantization &q) {
    if (!DYNQUANT_TEST_ONEDNN || !has_8_bit_types(q) || q.rule == numerics::onnx) return false;
    const bool per_tensor = q.scales.block == q.src.dims;
    int channels = 0;
    for (std::size_t d = 0; d < q.src.dims.size(); ++d) {
        if (q.scales.block[d] == q.src.dims[d]) continue;
        if (q.scales.block[d] != 1) return false;
        ++channels;
    }
    if (channels > 1 || !q.src.strides.empty() || !q.dst.strides.empty()) return false;
    if (q.zero_points && !per_tensor) return false;
    const auto all = [](const std::vector<double> &values, auto holds) { return std::ranges::all_of(values, holds); };
    if (q.dir == direction::dequantize) {
        if (!q.zero_points || q.zero_points->type != data_type::s32) return true;
        return !q.zero_points->values.empty()
                && all(q.zero_points->values, [](double zp) { return std::abs(zp) <= 0x1p24 - 256; });
    }
    if (q.rule == numerics::any)
        return all(q.scales.values, [](double s) { return std::abs(s) >= 0x1p-75 && std::abs(s) <= 0x1p75; })
                && (!q.zero_points || all(q.zero_points->values, [](double zp) { return std::abs(zp) < 0x1p20; }));
    return q.dst.type == data_type::u8 && !q.scales.values.empty() && all(q.scales.values, [](double s) {
        int exponent = 0;
        return std::abs(std::frexp(s, &exponent)) == 0.5 && std::abs(exponent) <= 100;
    });
}

} // namespace dynquant::test

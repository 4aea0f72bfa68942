#include "statements.hpp"

#include <algorithm>
#include <bit>
#include <limits>
#include <sstream>

#include "computed.hpp"
#include "elements.hpp"
#include "onnx.hpp"

namespace dynquant::test::oracle {
namespace {

using exact::real;
using exact::wide;

constexpr std::uint32_t sign_bit = 0x80000000u, infinity_bits = 0x7f800000u;

std::uint32_t bits_of(float value) {
    return std::bit_cast<std::uint32_t>(value);
}
bool is_negative(float value) {
    return (bits_of(value) & sign_bit) != 0;
}
bool is_nan(float value) {
    return (bits_of(value) & ~sign_bit) > infinity_bits;
}
bool is_infinite(float value) {
    return (bits_of(value) & ~sign_bit) == infinity_bits;
}
bool is_zero(float value) {
    return (bits_of(value) & ~sign_bit) == 0;
}

float assemble(bool negative, std::uint32_t bits) {
    return std::bit_cast<float>((negative ? sign_bit : 0) | bits);
}
float infinity(bool negative) {
    return assemble(negative, infinity_bits);
}
float zero(bool negative) {
    return assemble(negative, 0);
}
constexpr float nan = std::numeric_limits<float>::quiet_NaN();

/// clamp(RNE(value))
std::int64_t to_integer(float value, std::int64_t lowest, std::int64_t highest) {
    if (is_nan(value)) return lowest;
    return std::clamp(exact::to_integer(exact::number_of(value)), lowest, highest);
}

bool within(float value, int least, int most) {
    const auto magnitude = bits_of(value) & ~sign_bit;
    const auto power_of_two = [](int exponent) { return static_cast<std::uint32_t>(exponent + 127) << 23; };
    return magnitude >= power_of_two(least) && magnitude <= power_of_two(most);
}

} // namespace

float from_integer(std::int64_t value) {
    return exact::to_float(exact::of_integer(value));
}

float divide(float a, float b) {
    const bool negative = is_negative(a) != is_negative(b);
    if (is_nan(a) || is_nan(b) || (is_zero(a) && is_zero(b)) || (is_infinite(a) && is_infinite(b))) return nan;
    if (is_infinite(a) || is_zero(b)) return infinity(negative);
    if (is_infinite(b) || is_zero(a)) return zero(negative);
    // Both mantissas are below 2^24. The divisor's is scaled to exactly 24 bits and the dividend's to 64, so the
    // quotient has 40 bits or more.
    real x = exact::of_float(a), s = exact::of_float(b);
    const int up_x = 64 - exact::width(x.magnitude), up_s = 24 - exact::width(s.magnitude);
    const auto dividend = static_cast<std::uint64_t>(x.magnitude << up_x);
    const auto divisor = static_cast<std::uint64_t>(s.magnitude << up_s);
    return exact::to_float(
            {negative, dividend / divisor, x.exponent - up_x - (s.exponent - up_s), dividend % divisor != 0});
}

float multiply(float a, float b) {
    const bool negative = is_negative(a) != is_negative(b);
    if (is_nan(a) || is_nan(b)) return nan;
    if (is_infinite(a) || is_infinite(b)) return is_zero(a) || is_zero(b) ? nan : infinity(negative);
    const real x = exact::of_float(a), y = exact::of_float(b);
    return exact::to_float({negative, x.magnitude * y.magnitude, x.exponent + y.exponent});
}

float add(float a, float b) {
    if (is_nan(a) || is_nan(b)) return nan;
    if (is_infinite(a)) return is_infinite(b) && is_negative(a) != is_negative(b) ? nan : a;
    if (is_infinite(b)) return b;
    return exact::to_float(sum(exact::of_float(a), exact::of_float(b)));
}

std::int64_t quantize(float x, float s, std::int64_t zp, std::int64_t lowest, std::int64_t highest) {
    return to_integer(add(divide(x, s), from_integer(zp)), lowest, highest);
}

float dequantize(std::int64_t q, float s, std::int64_t zp) {
    return multiply(from_integer(q - zp), s);
}

bool allows_any(std::int64_t given, float x, float s, std::int64_t zp, std::int64_t lowest, std::int64_t highest) {
    const auto strict = quantize(x, s, zp, lowest, highest);
    if (given == strict) return true;
    const bool guarded = within(s, -75, 75) && zp > -(1 << 20) && zp < 1 << 20;
    if (!guarded || is_nan(x) || is_infinite(x) || std::abs(given - strict) > 1) return false;
    const float reciprocal = divide(1.0f, s);
    const auto separate = to_integer(add(multiply(x, reciprocal), from_integer(zp)), lowest, highest);
    const real a = exact::of_float(x), b = exact::of_float(reciprocal);
    const real product {a.negative != b.negative, a.magnitude * b.magnitude, a.exponent + b.exponent};
    const auto contracted = to_integer(exact::to_float(exact::sum(product, exact::of_integer(zp))), lowest, highest);
    return given == separate || given == contracted;
}

namespace {

float real_at(data_type type, const std::vector<std::byte> &bytes, std::int64_t index) {
    return real_from(type, get_bits(type, bytes.data(), index));
}

dims strides_of(const tensor &t) {
    if (!t.strides.empty()) return t.strides;
    dims strides(t.dims.size(), 1);
    for (std::size_t d = t.dims.size(); d-- > 1;)
        strides[d - 1] = strides[d] * t.dims[d];
    return strides;
}

/// The multi-index moves as an odometer does.
template <typename F>
void for_each_element(const quantization &q, F &&f) {
    const auto &extents = q.src.dims;
    for (const auto extent : extents)
        if (extent == 0) return;
    const auto src = strides_of(q.src), dst = strides_of(q.dst);
    dims index(extents.size(), 0);
    for (;;) {
        std::int64_t src_offset = 0, dst_offset = 0, parameter = 0;
        for (std::size_t d = 0; d < extents.size(); ++d) {
            src_offset += index[d] * src[d];
            dst_offset += index[d] * dst[d];
            const auto block = q.scales.block[d];
            parameter = parameter * ((extents[d] + block - 1) / block) + index[d] / block;
        }
        f(src_offset, dst_offset, parameter);
        std::size_t d = extents.size();
        while (d > 0 && ++index[d - 1] == extents[d - 1])
            index[--d] = 0;
        if (d == 0) return;
    }
}

/// An element of type s32.
std::int64_t scale_integer(const quantization &q, const inputs &in, std::int64_t i) {
    if (q.scales.values.empty()) return integer_from(data_type::s32, get_bits(data_type::s32, in.scales.data(), i));
    return static_cast<std::int64_t>(q.scales.values[static_cast<std::size_t>(i)]);
}

float scale_at(const quantization &q, const inputs &in, std::int64_t i) {
    if (q.scales.type == data_type::s32) return from_integer(scale_integer(q, in, i));
    if (q.scales.values.empty()) return real_at(q.scales.type, in.scales, i);
    const auto value = static_cast<float>(q.scales.values[static_cast<std::size_t>(i)]);
    return real_from(q.scales.type, bits_of_real(q.scales.type, value));
}

std::uint32_t zero_point_bits(const quantization &q, const inputs &in, std::int64_t i) {
    const auto &[type, block, values] = *q.zero_points;
    if (values.empty()) return get_bits(type, in.zero_points.data(), i);
    const auto value = values[static_cast<std::size_t>(i)];
    const auto bytes = is_integer(type) ? encode(type, {static_cast<std::int64_t>(value)})
                                        : encode_reals(type, {static_cast<float>(value)});
    return get_bits(type, bytes.data(), 0);
}

std::int64_t zero_point_at(const quantization &q, const inputs &in, std::int64_t i) {
    return q.zero_points ? integer_from(q.zero_points->type, zero_point_bits(q, in, i)) : 0;
}

/// f32(q - zp), and q if there is no zero point.
float shifted(const quantization &q, const inputs &in, float value, std::int64_t i) {
    if (!q.zero_points) return value;
    const float zp = real_from(q.zero_points->type, zero_point_bits(q, in, i));
    return add(value, std::bit_cast<float>(bits_of(zp) ^ sign_bit));
}

std::uint32_t result_of_onnx(const quantization &q, const inputs &in, std::int64_t src, std::int64_t p) {
    onnx_operands of {number_from(q.src.type, get_bits(q.src.type, in.src.data(), src)),
            q.scales.type == data_type::s32 ? number_of_integer(scale_integer(q, in, p))
                                            : exact::number_of(scale_at(q, in, p)),
            std::nullopt, q.division};
    if (q.zero_points) of.zero_point = number_from(q.zero_points->type, zero_point_bits(q, in, p));
    return quantize_onnx(of, q.dst.type, q.saturate);
}

/// From the value that the statement knows or else from the buffer. 1 if there is none.
float global_scale(const quantization &q, const inputs &in) {
    if (!q.second_scales) return 1;
    if (q.second_scales->values.empty()) return real_at(q.second_scales->type, in.second_scales, 0);
    return static_cast<float>(q.second_scales->values.front());
}

/// The bits of one element of dst.
std::uint32_t result_of(const quantization &q, const inputs &in, std::int64_t src, std::int64_t p) {
    if (q.rule == numerics::onnx && q.dir == direction::quantize) return result_of_onnx(q, in, src, p);
    const float scale = scale_at(q, in, p);
    if (q.dir == direction::dequantize) {
        const auto bits = get_bits(q.src.type, in.src.data(), src);
        return bits_of_real(q.dst.type,
                is_integer(q.src.type) ? dequantize(integer_from(q.src.type, bits), scale, zero_point_at(q, in, p))
                                       : multiply(shifted(q, in, real_from(q.src.type, bits), p), scale));
    }
    const float x = real_at(q.src.type, in.src, src);
    if (!is_integer(q.dst.type)) return bits_of_real(q.dst.type, divide(x, scale));
    const auto [lowest, highest] = range_of(q.dst.type);
    return static_cast<std::uint32_t>(quantize(x, scale, zero_point_at(q, in, p), lowest, highest));
}

/// Whether one element of dst is right although it differs from the expected one.
bool allowed(const quantization &q, const inputs &in, std::uint32_t expected, std::uint32_t given, std::int64_t src,
        std::int64_t p) {
    if (!is_integer(q.dst.type)) return is_nan(real_from(q.dst.type, expected)) && is_nan(real_from(q.dst.type, given));
    const auto [lowest, highest] = range_of(q.dst.type);
    return q.rule == numerics::any
            && allows_any(integer_from(q.dst.type, given), real_at(q.src.type, in.src, src), scale_at(q, in, p),
                    zero_point_at(q, in, p), lowest, highest);
}

std::string text_of(data_type type, std::uint32_t bits) {
    std::ostringstream text;
    if (is_integer(type))
        text << integer_from(type, bits);
    else
        text << std::hexfloat << real_from(type, bits);
    return text.str();
}

std::string text_of(const quantization &q, const inputs &in, std::int64_t src, std::int64_t p) {
    std::ostringstream text;
    text << "src " << text_of(q.src.type, get_bits(q.src.type, in.src.data(), src)) << ", scale " << std::hexfloat
         << scale_at(q, in, p);
    if (q.zero_points) text << ", zp " << text_of(q.zero_points->type, zero_point_bits(q, in, p));
    if (q.second_scales) text << ", second scale " << global_scale(q, in);
    return text.str();
}

} // namespace

std::vector<std::byte> run(const quantization &q, const inputs &in, std::vector<std::byte> before) {
    for_each_element(q, [&](std::int64_t src, std::int64_t dst, std::int64_t p) {
        set_bits(q.dst.type, before.data(), dst, result_of(q, in, src, p));
    });
    return before;
}

outputs run_computed(const quantization &q, const inputs &in, std::vector<std::byte> before, std::byte unused) {
    std::int64_t count = 1;
    for (std::size_t d = 0; d < q.src.dims.size(); ++d)
        count *= (q.src.dims[d] + q.scales.block[d] - 1) / q.scales.block[d];
    std::vector<std::vector<float>> values(static_cast<std::size_t>(count));
    for_each_element(q, [&](std::int64_t src, std::int64_t, std::int64_t p) {
        values[static_cast<std::size_t>(p)].push_back(real_at(q.src.type, in.src, src));
    });
    const float global = global_scale(q, in);
    outputs out {std::move(before), std::vector(bytes_for(q.scales.type, count), unused), {}};
    if (q.zero_points) out.zero_points.resize(bytes_for(q.zero_points->type, count), unused);
    std::vector<computed_block> blocks;
    for (std::int64_t p = 0; p < count; ++p) {
        const auto &block = blocks.emplace_back(compute_block(q, values[static_cast<std::size_t>(p)], global));
        set_bits(q.scales.type, out.scales.data(), p, block.scale);
        if (q.zero_points)
            set_bits(q.zero_points->type, out.zero_points.data(), p, static_cast<std::uint32_t>(block.zero_point));
    }
    if (q.computed->scales_only) return out;
    for_each_element(q, [&](std::int64_t src, std::int64_t dst, std::int64_t p) {
        const float x = real_at(q.src.type, in.src, src);
        set_bits(q.dst.type, out.dst.data(), dst, code_of(q, blocks[static_cast<std::size_t>(p)], x, global));
    });
    return out;
}

std::string wrong_parameter(const std::string &name, data_type type, const std::vector<std::byte> &expected,
        const std::vector<std::byte> &given) {
    const auto count = static_cast<std::int64_t>(expected.size()) * 8 / bits_in(type);
    for (std::int64_t i = 0; i < count; ++i) {
        const auto right = get_bits(type, expected.data(), i), now = get_bits(type, given.data(), i);
        if (now == right || (!is_integer(type) && is_nan(real_from(type, right)) && is_nan(real_from(type, now))))
            continue;
        return name + " " + std::to_string(i) + " is " + text_of(type, now) + ", expected " + text_of(type, right);
    }
    return {};
}

std::string disagreement(const quantization &q, const inputs &in, const std::vector<std::byte> &expected,
        const std::vector<std::byte> &given) {
    if (given.size() != expected.size()) return "the buffers differ in size";
    if (given == expected) return {};
    const auto type = q.dst.type;
    auto corrected = given;
    std::int64_t wrong = 0;
    std::string first;
    for_each_element(q, [&](std::int64_t src, std::int64_t dst, std::int64_t p) {
        const auto now = get_bits(type, given.data(), dst), right = get_bits(type, expected.data(), dst);
        if (now == right) return;
        set_bits(type, corrected.data(), dst, right);
        if (allowed(q, in, right, now, src, p) || wrong++ > 0) return;
        first = "dst at offset " + std::to_string(dst) + " is " + text_of(type, now) + ", expected "
                + text_of(type, right) + " for " + text_of(q, in, src, p);
    });
    if (wrong > 0) return std::to_string(wrong) + " elements differ; the first: " + first;
    return corrected == expected ? "" : "bytes between the elements of dst were written";
}

} // namespace dynquant::test::oracle

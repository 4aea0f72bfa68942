#include "compare.hpp"

#include <algorithm>
#include <bit>
#include <cmath>
#include <sstream>

#include "elements/load_store.hpp"
#include "elements/table.hpp"
#include "quantization/shape.hpp"
#include "quantization/text.hpp"

namespace dqbench {
namespace {

constexpr std::size_t max_shown_differences = 5;

/// The range in which fpmath mode any is close to strict; dynquant/quantization.hpp defines it.
bool is_moderate(float scale, std::int32_t zero_point) {
    return std::abs(scale) >= 0x1p-75f && std::abs(scale) <= 0x1p75f
            && std::abs(double {static_cast<double>(zero_point)}) < 0x1p20;
}

std::string show(float value) {
    std::ostringstream text;
    text.precision(9);
    text << value << std::hex << " (0x" << std::bit_cast<std::uint32_t>(value) << ')';
    return text.str();
}

/// A value of the type as text; reals as f32.
std::string show(data_type type, double value) {
    return dynquant::traits(type).integral ? std::to_string(static_cast<std::int64_t>(value))
                                           : show(static_cast<float>(value));
}

/// [0,17,3]
std::string position(std::int64_t index, const dynquant::dims &extents) {
    std::string text = "]";
    for (auto d = extents.size(); d-- > 0; index /= extents[d])
        text = dynquant::concat(d == 0 ? "" : ",", index % extents[d], text);
    return dynquant::concat('[', text);
}

/// An element's inputs.
struct operands {
    double src;
    float scale;
    std::int32_t zero_point;
};

bool is_same_value(double expected, double got) {
    return (expected == got && std::signbit(expected) == std::signbit(got))
            || (std::isnan(expected) && std::isnan(got));
}

bool is_allowed(const operands &of, double expected, double got, const tolerance &allowed) {
    if (is_same_value(expected, got)) return true;
    const auto src = static_cast<float>(of.src);
    if (allowed.as_onednn && (!is_moderate(of.scale, of.zero_point) || std::isnan(src / of.scale))) return true;
    return allowed.any && any_allows(src, of.scale, of.zero_point, static_cast<int>(expected), static_cast<int>(got));
}

bool is_informative(data_type type, double value) {
    const auto &t = dynquant::traits(type);
    if (!t.integral && !(std::isfinite(value) && value != 0)) return false;
    return value != t.lowest && value != t.highest;
}

/// Under fpmath mode any, integers may differ; reals must not.
tolerance tolerance_for(const statement &s, const tolerance &allowed) {
    return s.quantizing && dynquant::traits(s.types.dst).integral ? allowed : tolerance {};
}

} // namespace

bool any_allows(float x, float scale, std::int32_t zero_point, int expected, int got) {
    if (!is_moderate(scale, zero_point) || std::abs(expected - got) != 1) return false;
    // Strict rounds the quotient and the sum; `any` rounds the reciprocal, the product and the sum. Each rounding errs
    // by at most 2^-24 of its value. The results can differ only if the exact sum is closer to a tie than all these
    // errors.
    const auto quotient = static_cast<long double>(x) / scale;
    const auto sum = quotient + zero_point;
    const auto from_tie = std::abs(sum - (std::floor(sum) + 0.5L));
    return from_tie <= (4 * std::abs(quotient) + 2 * std::abs(sum)) * 0x1p-24L;
}

comparison compare(const statement &s, const parameters &p, const void *src, const void *expected, const computed &got,
        const tolerance &allowed) {
    const auto type = s.types.dst;
    const auto may_differ = tolerance_for(s, allowed);
    comparison found;
    for_each_element(s, got.strides, [&](const element &e) {
        const auto channel = static_cast<std::size_t>(e.channel);
        const operands of {dynquant::load(s.types.src, src, e.src), p.scales[channel],
                p.zero_points.empty() ? 0 : p.zero_points[channel]};
        const double right = dynquant::load(type, expected, e.index),
                     given = dynquant::load(type, got.memory.data(), e.dst);
        found.informative += is_informative(type, right);
        if (is_allowed(of, right, given, may_differ)) return;
        ++found.differing;
        if (found.first.size() < max_shown_differences)
            found.first.push_back(dynquant::concat('[', e.index, ']', position(e.index, s.extents),
                    " src:", show(s.types.src, of.src), " scale:", show(of.scale), " zp:", of.zero_point,
                    " expected:", show(type, right), " got:", show(type, given)));
    });
    return found;
}

comparison compare_parameters(const statement &s, const parameters &expected, const guarded_buffer &scales,
        const guarded_buffer &zero_points) {
    comparison found;
    const auto compare_one = [&](const char *what, std::size_t i, data_type type, double right, const void *buffer) {
        const double given = dynquant::load(type, buffer, static_cast<std::int64_t>(i));
        if (is_same_value(right, given)) return;
        ++found.differing;
        if (found.first.size() < max_shown_differences)
            found.first.push_back(
                    dynquant::concat(what, " [", i, "] expected:", show(type, right), " got:", show(type, given)));
    };
    for (std::size_t i = 0; i < expected.scales.size(); ++i)
        compare_one("scale", i, s.types.scales, expected.scales[i], scales.data());
    for (std::size_t i = 0; i < expected.zero_points.size(); ++i)
        compare_one("zp", i, *s.types.zps, expected.zero_points[i], zero_points.data());
    return found;
}

std::optional<std::string> stray_write(const statement &s, const computed &got) {
    if (!got.memory.guards_intact()) return "bytes before or after dst were written";
    const auto bytes = got.memory.bytes();
    const auto bits = dynquant::traits(s.types.dst).bits;
    if (static_cast<std::int64_t>(bytes.size()) == dynquant::size_in_bytes(s.types.dst, s.volume())
            && s.volume() * bits % 8 == 0)
        return std::nullopt;
    std::vector<std::byte> elements(bytes.size()); // a mask of the bits that belong to elements
    for_each_element(s, got.strides, [&](const element &e) {
        const auto first = static_cast<std::size_t>(e.dst * bits), end = first + static_cast<std::size_t>(bits);
        for (auto bit = first; bit < end; bit = bits < 8 ? bit + 1 : bit + 8)
            elements[bit / 8] |= bits < 8 ? std::byte {1} << bit % 8 : std::byte {0xff};
    });
    for (std::size_t i = 0; i < bytes.size(); ++i)
        if (((bytes[i] ^ guarded_buffer::pattern) & ~elements[i]) != std::byte {0})
            return dynquant::concat("byte ", i, " of dst, between two elements, was written");
    return std::nullopt;
}

} // namespace dqbench

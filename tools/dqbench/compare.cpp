#include "compare.hpp"

#include <bit>
#include <cmath>
#include <limits>
#include <sstream>
#include <type_traits>

#include "quantization/data_type.hpp"
#include "quantization/shape.hpp"
#include "quantization/text.hpp"

namespace dqbench {
namespace {

constexpr std::size_t shown_differences = 5;

/// Where fpmath mode any keeps next to strict; quantization.hpp states it.
bool moderate(float scale, std::int32_t zero_point) {
    return std::abs(scale) >= 0x1p-75f && std::abs(scale) <= 0x1p75f
            && std::abs(double {static_cast<double>(zero_point)}) < 0x1p20;
}

template <typename Type>
std::string show(Type value) {
    if constexpr (sizeof(Type) == 1) {
        return std::to_string(static_cast<int>(value));
    } else {
        std::ostringstream text;
        text.precision(9);
        text << value << std::hex << " (0x" << std::bit_cast<std::uint32_t>(value) << ')';
        return text.str();
    }
}

/// [0,17,3]
std::string position(std::int64_t index, const dynquant::dims &extents) {
    std::string text = "]";
    for (auto d = extents.size(); d-- > 0; index /= extents[d])
        text = dynquant::concat(d == 0 ? "" : ",", index % extents[d], text);
    return dynquant::concat('[', text);
}

/// What a comparison knows of an element besides the results.
template <typename Src>
struct operands {
    Src src;
    float scale;
    std::int32_t zero_point;
};

template <typename Src, typename Dst>
bool agree(const operands<Src> &of, Dst expected, Dst got, const tolerance &allowed) {
    if constexpr (std::is_same_v<Dst, float>) {
        return std::bit_cast<std::uint32_t>(expected) == std::bit_cast<std::uint32_t>(got)
                || (std::isnan(expected) && std::isnan(got));
    } else if constexpr (std::is_same_v<Src, float>) {
        if (expected == got) return true;
        if (allowed.as_onednn && (!moderate(of.scale, of.zero_point) || std::isnan(of.src / of.scale))) return true;
        return allowed.any && any_allows(of.src, of.scale, of.zero_point, expected, got);
    } else {
        return expected == got;
    }
}

template <typename Dst>
bool is_telling(Dst value) {
    if constexpr (std::is_same_v<Dst, float>)
        return std::isfinite(value) && value != 0;
    else
        return value != std::numeric_limits<Dst>::lowest() && value != std::numeric_limits<Dst>::max();
}

template <typename Src, typename Dst>
comparison compare_as(const statement &s, const parameters &p, const Src *src, const Dst *expected, const Dst *got,
        const dynquant::dims &strides, const tolerance &allowed) {
    comparison found;
    for_each_element(s, strides, [&](const element &e) {
        const auto channel = static_cast<std::size_t>(e.channel);
        const operands<Src> of {src[e.src], p.scales[channel], p.zero_points.empty() ? 0 : p.zero_points[channel]};
        const Dst right = expected[e.index], given = got[e.dst];
        found.telling += is_telling(right);
        if (agree(of, right, given, allowed)) return;
        ++found.differing;
        if (found.first.size() < shown_differences)
            found.first.push_back(dynquant::concat('[', e.index, ']', position(e.index, s.extents),
                    " src:", show(of.src), " scale:", show(of.scale), " zp:", of.zero_point, " expected:", show(right),
                    " got:", show(given)));
    });
    return found;
}

} // namespace

bool any_allows(float x, float scale, std::int32_t zero_point, int expected, int got) {
    if (!moderate(scale, zero_point) || std::abs(expected - got) != 1) return false;
    // Strict rounds the quotient and the sum; `any` the reciprocal, the product and the sum, each by at
    // most 2^-24 of its size. So the exact sum must be that near to a tie for the results to part.
    const auto quotient = static_cast<long double>(x) / scale;
    const auto sum = quotient + zero_point;
    const auto from_tie = std::abs(sum - (std::floor(sum) + 0.5L));
    return from_tie <= (4 * std::abs(quotient) + 2 * std::abs(sum)) * 0x1p-24L;
}

comparison compare(const statement &s, const parameters &p, const void *src, const void *expected, const computed &got,
        const tolerance &allowed) {
    return dynquant::with_type(s.types.src, [&](auto src_type) {
        return dynquant::with_type(s.types.dst, [&](auto dst_type) {
            using src_pointer = const decltype(src_type) *;
            using dst_pointer = const decltype(dst_type) *;
            return compare_as(s, p, static_cast<src_pointer>(src), static_cast<dst_pointer>(expected),
                    got.memory.as<decltype(dst_type)>(), got.strides, allowed);
        });
    });
}

std::optional<std::string> stray_write(const statement &s, const computed &got) {
    if (!got.memory.guards_intact()) return "bytes before or after dst were written";
    const auto bytes = got.memory.bytes();
    const auto size = dynquant::traits(s.types.dst).size;
    if (bytes.size() == static_cast<std::size_t>(s.volume()) * size) return std::nullopt;
    std::vector<bool> element_starts(bytes.size() / size);
    for_each_element(s, got.strides, [&](const element &e) { element_starts[static_cast<std::size_t>(e.dst)] = true; });
    for (std::size_t i = 0; i < bytes.size(); ++i)
        if (!element_starts[i / size] && bytes[i] != guarded_buffer::pattern)
            return dynquant::concat("byte ", i, " of dst, between two elements, was written");
    return std::nullopt;
}

} // namespace dqbench

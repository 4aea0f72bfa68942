#include "text_parsing.hpp"

#include <limits>

#include "quantization/text.hpp"

namespace dqbench {
namespace {

template <typename Number>
Number parse_within(const char *kind, std::string_view text, Number least, Number most) {
    Number value {};
    const auto *end = text.data() + text.size();
    const auto [rest, failure] = std::from_chars(text.data(), end, value);
    if (failure != std::errc() || rest != end || !(value >= least && value <= most))
        throw usage_error(dynquant::concat("expected ", kind, " from ", least, " to ", most, ", given '", text, "'"));
    return value;
}

} // namespace

std::vector<std::string> split(std::string_view text, char separator) {
    std::vector<std::string> parts;
    for (;;) {
        const auto end = text.find(separator);
        parts.emplace_back(text.substr(0, end));
        if (end == text.npos) return parts;
        text.remove_prefix(end + 1);
    }
}

std::int64_t parse_integer(std::string_view text, std::int64_t least, std::int64_t most) {
    return parse_within("an integer", text, least, most);
}

std::uint64_t parse_id(std::string_view text) {
    return parse_within<std::uint64_t>("an id", text, 0, UINT64_MAX);
}

double parse_number(std::string_view text, double least, double most) {
    return parse_within("a number", text, least, most);
}

float parse_f32(std::string_view text) {
    using limits = std::numeric_limits<float>;
    return parse_within("a number", text, limits::lowest(), limits::max());
}

dynquant::dims parse_dims(std::string_view text) {
    dynquant::dims result;
    if (text == "scalar") return result;
    for (const auto &extent : split(text, 'x'))
        result.push_back(parse_integer(extent, 0, INT64_MAX));
    return result;
}

} // namespace dqbench

#include "text_parsing.hpp"

#include <charconv>

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

double parse_number(std::string_view text, double least, double most) {
    return parse_within("a number", text, least, most);
}

dynquant::dims parse_dims(std::string_view text) {
    dynquant::dims result;
    if (text == "scalar") return result;
    for (const auto &extent : split(text, 'x'))
        result.push_back(parse_integer(extent, 0, INT64_MAX));
    return result;
}

} // namespace dqbench

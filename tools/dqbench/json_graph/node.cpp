#include "json_graph/node.hpp"

#include <algorithm>
#include <cmath>
#include <limits>

#include "batch.hpp"
#include "quantization/text.hpp"
#include "text_parsing.hpp"

namespace dqbench::json_graph {

using dynquant::concat;
using nlohmann::json;

namespace {

constexpr std::size_t max_shown_characters = 160;

/// Shortens text from the file for a message.
std::string shorten(std::string text) {
    if (text.size() <= max_shown_characters) return text;
    return text.substr(0, max_shown_characters) + "...";
}

/// A value as a message shows it. Objects and arrays are not printed: they may be long and deep.
std::string show(const json &value) {
    if (value.is_object()) return "an object";
    if (value.is_array()) return "an array";
    return shorten(value.dump());
}

} // namespace

json parse_file(const std::string &file) {
    try {
        return json::parse(contents_of("JSON", file));
    } catch (const json::exception &e) {
        // Drops the library's name of the error, "[json.exception.parse_error.101] ".
        const std::string what = e.what();
        const auto name_end = what.find("] ");
        throw usage_error(concat(file, ": ", shorten(name_end == what.npos ? what : what.substr(name_end + 2))));
    }
}

void node::fail(const std::string &expected) const {
    throw usage_error(concat(
            *file_, ": ", place_.empty() ? "/" : shorten(place_), ": expected ", expected, ", given ", show(*value_)));
}

const json &node::require(json::value_t type, const char *expected) const {
    if (value_->type() != type) fail(expected);
    return *value_;
}

node node::at(const char *key) const {
    if (const auto found = find(key)) return *found;
    throw usage_error(concat(*file_, ": ", place_.empty() ? "/" : place_, ": expected the key '", key, "'"));
}

std::optional<node> node::find(const char *key) const {
    const auto &object = require(json::value_t::object, "an object");
    const auto found = object.find(key);
    if (found == object.end()) return std::nullopt;
    return node(*found, *file_, concat(place_, '/', key));
}

std::vector<node> node::elements() const {
    std::vector<node> all;
    for (const auto &element : require(json::value_t::array, "an array"))
        all.push_back(node(element, *file_, concat(place_, '/', all.size())));
    return all;
}

std::vector<std::pair<std::string, node>> node::members() const {
    std::vector<std::pair<std::string, node>> all;
    for (const auto &[key, value] : require(json::value_t::object, "an object").items())
        all.emplace_back(key, node(value, *file_, concat(place_, '/', key)));
    return all;
}

std::string node::string() const {
    return require(json::value_t::string, "a string").get<std::string>();
}

std::string node::one_of(const std::vector<std::string> &names) const {
    auto text = string();
    if (std::find(names.begin(), names.end(), text) == names.end())
        fail(concat("a word of oneDNN Graph", dynquant::suggest(text, names)));
    return text;
}

std::int64_t node::integer() const {
    // nlohmann::json reads an integer that does not fit as unsigned or as a real number.
    if (!value_->is_number_integer() || (value_->is_number_unsigned() && value_->get<std::uint64_t>() > INT64_MAX))
        fail("an integer of 64 bits");
    return value_->get<std::int64_t>();
}

std::uint64_t node::id() const {
    if (!value_->is_number_unsigned()) fail("an id, an integer from 0 to 2^64 - 1");
    return value_->get<std::uint64_t>();
}

bool node::truth() const {
    if (value_->is_boolean()) return value_->get<bool>();
    if (!value_->is_number_unsigned() || value_->get<std::uint64_t>() > 1) fail("true or false, or 1 or 0");
    return value_->get<std::uint64_t>() == 1;
}

float node::real() const {
    const double most = std::numeric_limits<float>::max();
    if (!value_->is_number() || !(std::fabs(value_->get<double>()) <= most)) fail("a finite f32");
    return value_->get<float>();
}

} // namespace dqbench::json_graph

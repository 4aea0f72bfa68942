#include "layout.hpp"

#include <algorithm>
#include <iterator>
#include <regex>
#include <set>

#include "quantization/text.hpp"
#include "text_parsing.hpp"

namespace dqbench {
namespace {

constexpr std::string_view strides_prefix = "strides:";
constexpr std::string_view letters = "abcdefghijkl"; // one for each of max_rank dims
static_assert(letters.size() == dynquant::max_rank);

bool is_pattern(std::string_view tag) {
    return tag.find('x') != tag.npos;
}

bool names_each_once(std::string_view tag, std::string_view allowed) {
    return !tag.empty() && tag.find_first_not_of(allowed) == tag.npos
            && std::all_of(tag.begin(), tag.end(), [&](char c) { return std::count(tag.begin(), tag.end(), c) == 1; });
}

/// oneDNN's names of plain layouts of activations, weights and recurrent networks, by their names of the row-major one.
constexpr std::string_view row_major_names[] = {"nc", "ncw", "nchw", "ncdhw", "oi", "oiw", "oihw", "oidhw", "goiw",
        "goihw", "goidhw", "tnc", "ldnc", "ldio", "ldigo"};

/// The letters a, b, ... for one of oneDNN's names, such as acdb for nhwc; empty if it is none.
std::string letters_of_name(std::string_view tag) {
    for (const auto row_major : row_major_names) {
        if (!std::is_permutation(tag.begin(), tag.end(), row_major.begin(), row_major.end())) continue;
        std::string result;
        for (const char c : tag)
            result += letters[row_major.find(c)];
        return result;
    }
    return "";
}

/// Tags for the search for near spellings.
std::vector<std::string> frequent_tags() {
    std::vector<std::string> tags {"abx", "axb", "xba", "any", "nwc", "nhwc", "ndhwc", "hwio", "acdb"};
    tags.insert(tags.end(), std::begin(row_major_names), std::end(row_major_names));
    return tags;
}

bool is_tag(std::string_view tag) {
    if (!letters_of_name(tag).empty()) return true;
    if (is_pattern(tag)) return names_each_once(tag, std::string(letters) + 'x');
    return names_each_once(tag, letters.substr(0, std::min(tag.size(), letters.size())));
}

/// The letters of the dims, outermost first.
std::string order_for(const std::string &tag, std::size_t rank) {
    const std::string own(letters.substr(0, rank));
    if (auto named = letters_of_name(tag); !named.empty()) return named;
    if (!is_pattern(tag)) return tag;
    std::string order;
    for (const char c : tag) {
        if (c == 'x')
            std::copy_if(own.begin(), own.end(), std::back_inserter(order),
                    [&](char other) { return tag.find(other) == tag.npos; });
        else if (own.find(c) != own.npos)
            order += c;
    }
    return order;
}

} // namespace

dynquant::dims dense_strides(
        const dynquant::dims &extents, const std::vector<std::size_t> &order, const std::string &given) {
    dynquant::dims strides(extents.size());
    std::int64_t stride = 1;
    for (auto d = order.rbegin(); d != order.rend(); ++d) {
        strides[*d] = stride;
        if (__builtin_mul_overflow(stride, std::max<std::int64_t>(extents[*d], 1), &stride))
            throw usage_error(dynquant::concat("expected strides that fit in 63 bits, given ", given));
    }
    return strides;
}

/// The order of the dims, in which those with blocks are in upper case; then each block's size and dim.
bool is_blocked(std::string_view tag) {
    static const std::regex form("([a-zA-Z]+)((?:[0-9]+[a-z])+)");
    std::cmatch parts;
    if (!std::regex_match(tag.data(), tag.data() + tag.size(), parts, form)) return false;
    std::string order = parts[1];
    std::set<char> upper, blocks;
    for (const char c : parts[2].str())
        if (c >= 'a') blocks.insert(c);
    for (char &c : order) {
        if (c >= 'a') continue;
        c = static_cast<char>(c - 'A' + 'a');
        upper.insert(c);
    }
    return is_tag(order) && upper == blocks;
}

layout layout::parse(std::string_view text) {
    layout result;
    result.text_ = text;
    if (text.substr(0, strides_prefix.size()) == strides_prefix)
        parse_dims(text.substr(strides_prefix.size()));
    else if (text != "any" && !is_tag(text))
        throw usage_error(dynquant::concat(
                "expected a layout such as abcd, acdb, nhwc, abx, axb, any or strides:12x4x1, given '", text, "'",
                is_blocked(text) ? ", with blocks, which dynquant has not"
                                 : dynquant::suggest(std::string(text), frequent_tags())));
    return result;
}

dynquant::dims layout::strides_for(const dynquant::dims &extents) const {
    if (is_any()) throw usage_error("expected a layout with strides, given any");
    const auto rank = extents.size();
    if (rank > dynquant::max_rank)
        throw usage_error(dynquant::concat("expected rank 0 to ", dynquant::max_rank, ", given rank ", rank));
    const auto wrong_rank = [&](std::size_t given) {
        return usage_error(
                dynquant::concat("layout ", text_, " is for rank ", given, ", the problem is of rank ", rank));
    };
    if (text_.compare(0, strides_prefix.size(), strides_prefix) == 0) {
        auto strides = parse_dims(std::string_view(text_).substr(strides_prefix.size()));
        if (strides.size() != rank) throw wrong_rank(strides.size());
        return strides;
    }
    std::vector<std::size_t> order;
    for (const char letter : order_for(text_, rank))
        order.push_back(letters.find(letter));
    if (order.size() != rank) throw wrong_rank(order.size());
    return dense_strides(extents, order, dynquant::concat(text_, " for ", dynquant::to_string(extents)));
}

} // namespace dqbench

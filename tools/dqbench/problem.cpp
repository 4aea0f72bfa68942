#include "problem.hpp"

#include "quantization/shape.hpp"
#include "quantization/text.hpp"
#include "text_parsing.hpp"

namespace dqbench {
namespace {

/// Characters that a shell's double quotes and the splitting of batch files preserve.
constexpr std::string_view name_characters = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ"
                                             "0123456789_-.:/+*@=()[]&";

std::string parse_name(std::string_view text) {
    if (text.size() >= 2 && text.front() == '"' && text.back() == '"') text = text.substr(1, text.size() - 2);
    if (text.empty() || text.find_first_not_of(name_characters) != text.npos)
        throw usage_error(
                dynquant::concat("expected a name of letters, digits and _-.:/+*@=()[]& after n, given '", text, "'"));
    return std::string(text);
}

} // namespace

bool is_name_character(char c) {
    return name_characters.find(c) != name_characters.npos;
}

problem parse_problem(std::string_view text) {
    problem result;
    try {
        const auto name = text.find('n');
        const auto extents = text.substr(0, name);
        const bool underscore = name != text.npos && extents.ends_with('_'); // benchdnn's 48x64_n"fc"
        result.extents = parse_dims(extents.substr(0, extents.size() - (underscore ? 1 : 0)));
        if (name != text.npos) result.name = parse_name(text.substr(name + 1));
        if (result.extents.size() > dynquant::max_rank)
            throw usage_error(dynquant::concat(
                    "expected rank 0 to ", dynquant::max_rank, ", given rank ", result.extents.size()));
        if (!dynquant::volume(result.extents)) throw usage_error("expected a number of elements that fits in 63 bits");
    } catch (const usage_error &e) {
        throw usage_error(dynquant::concat(
                "bad problem '", text, "' (8x64x56x56, scalar, or with a name: 8x64n\"fc\"): ", e.what()));
    }
    return result;
}

std::string to_string(const problem &p) {
    const auto extents = dynquant::to_string(p.extents);
    return p.name.empty() ? extents : dynquant::concat(extents, "n\"", p.name, '"');
}

} // namespace dqbench

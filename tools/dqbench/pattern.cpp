#include "pattern.hpp"

#include "quantization/text.hpp"
#include "text_parsing.hpp"

namespace dqbench {

using dynquant::concat;

namespace {

/// libstdc++ calls itself for each character of an expression: thousands of "(" or of letters overflow the stack. This
/// many take a sixteenth of the usual 8 MiB. Counts, as in "(a?){16000}", take up to a half, where libstdc++ refuses
/// more.
constexpr std::size_t longest = 1000;

/// libstdc++ computes counts and back references, as in "a{2}", in a long, and never checks it.
constexpr int most_digits = 9;

/// By default libstdc++ tries one path after the other. Then ".*x" calls itself for each character of the text that is
/// searched, which overflows the stack, and "(.|.)*!" takes time exponential in the text's length.
#ifdef __GLIBCXX__
constexpr auto all_paths_at_once = std::regex_constants::__polynomial;
#else
constexpr std::regex_constants::syntax_option_type all_paths_at_once {};
#endif

} // namespace

std::regex parse_pattern(const std::string &text) {
    if (text.size() > longest)
        throw usage_error(concat(
                "expected a regular expression of at most ", longest, " characters, given one of ", text.size()));
    int digits = 0;
    for (const char c : text) {
        digits = c >= '0' && c <= '9' ? digits + 1 : 0;
        if (digits > most_digits)
            throw usage_error(concat("expected a regular expression with numbers of at most ", most_digits,
                    " digits, given '", text, "'"));
    }
    try {
        return std::regex(text, std::regex::extended | all_paths_at_once);
    } catch (const std::regex_error &e) {
        throw usage_error(concat("expected a regular expression, given '", text, "': ", e.what()));
    }
}

} // namespace dqbench

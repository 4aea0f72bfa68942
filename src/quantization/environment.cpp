#include "quantization/environment.hpp"

#include <algorithm>
#include <cstdio>
#include <cstdlib>

#include "quantization/names.hpp"

namespace dynquant::environment {
namespace {

/// A variable's place among the words that it may have.
std::optional<int> read_choice(const char *variable, const std::vector<std::string> &words) {
    const char *text = std::getenv(variable);
    if (!text || !*text) return std::nullopt;
    const auto found = std::ranges::find(words, text);
    if (found != words.end()) return static_cast<int>(found - words.begin());
    throw error(status::invalid_arguments,
            concat(variable, ": expected ", alternatives(words, std::identity {}), ", given '", text, "'",
                    suggest(text, words)));
}

template <typename Enum>
std::optional<Enum> read_enumerator(const char *variable) {
    const auto place = read_choice(variable, all_names<Enum>());
    return place ? std::optional(static_cast<Enum>(*place)) : std::nullopt;
}

} // namespace

std::optional<kernel_kind> kernel() {
    return read_enumerator<kernel_kind>("DYNQUANT_KERNEL");
}

std::optional<isa> max_isa() {
    return read_enumerator<isa>("DYNQUANT_MAX_ISA");
}

bool quantizes_x() {
    return read_choice("DYNQUANT_WEIGHT_ONLY", {"float_x", "int8_x"}) == 1;
}

void check() {
    kernel();
    max_isa();
    quantizes_x();
}

targets::features usable_features(std::optional<isa> cap) {
    if (!cap) cap = max_isa();
    const auto all = targets::of_processor();
    return cap ? all & targets::up_to(*cap) : all;
}

int verbose() {
    static const int level = [] {
        try {
            return read_choice("DYNQUANT_VERBOSE", {"0", "1", "2"}).value_or(0);
        } catch (const error &e) { // it changes no results, so it stops no program
            std::fprintf(stderr, "dynquant: %s; no line is printed\n", e.what());
            return 0;
        }
    }();
    return level;
}

} // namespace dynquant::environment

dynquant::isa dynquant::best_isa() {
    return targets::strongest(environment::usable_features());
}

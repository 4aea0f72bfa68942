#include "quantization/environment.hpp"

#include <array>
#include <cstdio>
#include <cstdlib>
#include <string>

#include "quantization/text.hpp"

namespace dynquant::environment {
namespace {

template <typename Value, std::size_t N>
std::optional<Value> read_choice(const char *variable, const std::array<Value, N> &values) {
    const char *text = std::getenv(variable);
    if (!text || !*text) return std::nullopt;
    using dynquant::to_string, std::to_string; // the latter of a level
    std::vector<std::string> names;
    for (const auto value : values) {
        names.emplace_back(to_string(value));
        if (names.back() == text) return value;
    }
    std::string expected;
    for (std::size_t i = 0; i < N; ++i)
        expected += (i == 0 ? "" : i + 1 == N ? " or " : ", ") + names[i];
    throw error(status::invalid_arguments,
            concat(variable, ": expected ", expected, ", given '", text, "'", suggest(text, names)));
}

} // namespace

std::optional<kernel_kind> kernel() {
    return read_choice(
            "DYNQUANT_KERNEL", std::array {kernel_kind::native, kernel_kind::onednn, kernel_kind::reference});
}

std::optional<isa> max_isa() {
    return read_choice("DYNQUANT_MAX_ISA", std::array {isa::scalar, isa::avx2, isa::avx512, isa::neon});
}

targets::features usable_features(std::optional<isa> cap) {
    if (!cap) cap = max_isa();
    const auto all = targets::of_processor();
    return cap ? all & targets::up_to(*cap) : all;
}

int verbose() {
    static const int level = [] {
        try {
            return read_choice("DYNQUANT_VERBOSE", std::array {0, 1, 2}).value_or(0);
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

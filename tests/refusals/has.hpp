// Whether a message has what it must. Its wording is free: one case of each front-end has a whole sentence.
#pragma once

#include <cctype>
#include <string>
#include <vector>

namespace dynquant::test {

/// Whether a message has these parts in this order. "given 4" is no part of "given 40", nor is "4" of "14".
inline bool has(const std::string &message, const std::vector<std::string> &parts) {
    const auto is_inside_a_word = [&](std::size_t behind) {
        const auto is_of_word = [](char c) { return std::isalnum(static_cast<unsigned char>(c)) != 0 || c == '_'; };
        return behind > 0 && behind < message.size() && is_of_word(message[behind - 1]) && is_of_word(message[behind]);
    };
    std::size_t end = 0;
    for (const auto &part : parts) {
        auto at = message.find(part, end);
        while (at != std::string::npos && (is_inside_a_word(at) || is_inside_a_word(at + part.size())))
            at = message.find(part, at + 1);
        if (at == std::string::npos) return false;
        end = at + part.size();
    }
    return true;
}

} // namespace dynquant::test

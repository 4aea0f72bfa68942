// Whether a message names what it must. Its wording is free: one case of each front-end has a whole sentence.
#pragma once

#include <cctype>
#include <string>
#include <vector>

#include "support/fails.hpp"

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

/// Parts of a message, in this order: the argument that is wrong, what is expected of it, and what is given.
struct names {
    std::string argument, expected, given;

    bool are_in(const std::string &message) const {
        return has(message, {argument + ": expected ", expected, ", given " + given});
    }
};

/// `where` begins the message.
template <typename F, typename Status>
testing::AssertionResult fails(F &&f, Status status, const names &n, const std::string &where = "") {
    const auto what = where + n.argument + ": expected " + n.expected + ", given " + n.given;
    try {
        f();
    } catch (const error_of<Status> &e) {
        const std::string message = e.what();
        if (e.status == status && message.find(where) == 0 && n.are_in(message)) return testing::AssertionSuccess();
        return testing::AssertionFailure()
                << "expected status " << static_cast<int>(status) << " with these parts: " << what
                << "\n   given status " << static_cast<int>(e.status) << ": " << message;
    }
    return testing::AssertionFailure() << "no error; expected " << what;
}

} // namespace dynquant::test

// Whether a message names what it must. Its wording is free: one case of each front-end has a whole sentence.
#pragma once

#include "support/fails.hpp"

namespace dynquant::test {

/// Parts of a message, in this order: the argument that is wrong, what is expected of it, and what is given.
struct names {
    std::string argument, expected, given;

    bool are_in(const std::string &message) const {
        std::size_t at = 0;
        for (const auto &part : {argument + ": expected ", expected, ", given " + given}) {
            at = message.find(part, at);
            if (at == std::string::npos) return false;
            at += part.size();
        }
        return true;
    }
};

/// `where` begins the message.
template <typename F>
testing::AssertionResult fails(F &&f, dnnl_status_t status, const names &n, const std::string &where = "") {
    const auto what = where + n.argument + ": expected " + n.expected + ", given " + n.given;
    try {
        f();
    } catch (const dnnl::error &e) {
        const std::string message = e.what();
        if (e.status == status && message.find(where) == 0 && n.are_in(message)) return testing::AssertionSuccess();
        return testing::AssertionFailure() << "expected status " << status << " with these parts: " << what
                                           << "\n   given status " << e.status << ": " << message;
    }
    return testing::AssertionFailure() << "no error; expected " << what;
}

} // namespace dynquant::test

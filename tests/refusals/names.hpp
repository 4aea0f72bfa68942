// Whether an error names what it must.
#pragma once

#include <string>

#include "has.hpp"
#include "support/fails.hpp"

namespace dynquant::test {

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
    const auto what = n.argument + ": expected " + n.expected + ", given " + n.given;
    try {
        f();
    } catch (const error_of<Status> &e) {
        const std::string message = e.what();
        if (e.status == status && message.find(where) == 0 && n.are_in(message)) return testing::AssertionSuccess();
        return testing::AssertionFailure() << "expected status " << static_cast<int>(status) << ", '" << where
                                           << "' first, with these parts: " << what << "\n   given status "
                                           << static_cast<int>(e.status) << ": " << message;
    }
    return testing::AssertionFailure() << "no error; expected " << what;
}

} // namespace dynquant::test

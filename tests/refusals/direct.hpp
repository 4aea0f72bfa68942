// Asserts that the direct API refuses a statement: check() and prepare() with the same message.
#pragma once

#include "dynquant/quantization.hpp"
#include "support/fails.hpp"

namespace dynquant::test {

/// `q` is a right statement, until `spoil` changes it.
template <typename Spoil>
testing::AssertionResult refused(quantization q, dynquant::status status, const std::string &message, Spoil &&spoil) {
    spoil(q);
    const auto found = check(q);
    if (!found) return testing::AssertionFailure() << "nothing was found";
    if (found->status != status || found->message != message)
        return testing::AssertionFailure() << "found " << to_string(found->status) << ": " << found->message;
    return fails([&] { prepare(q); }, status, message);
}

} // namespace dynquant::test

// Asserts that check() and prepare() refuse a statement with the same message.
#pragma once

#include <string>

#include <gtest/gtest.h>

#include "dynquant/quantization.hpp"

namespace dynquant::test {

inline testing::AssertionResult is_refused(const quantization &q, dnnl_status_t status, const std::string &message) {
    const auto found = check(q);
    if (!found) return testing::AssertionFailure() << "nothing was found";
    if (found->status != status || found->message != message)
        return testing::AssertionFailure() << "found " << found->status << ": " << found->message;
    try {
        prepare(q);
    } catch (const error &thrown) {
        if (thrown.status == status && thrown.message == message) return testing::AssertionSuccess();
        return testing::AssertionFailure() << "prepare() throws " << thrown.message;
    }
    return testing::AssertionFailure() << "prepare() does not throw";
}

} // namespace dynquant::test

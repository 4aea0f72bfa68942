// Whether a call throws an error of exactly this status and message.
#pragma once

#include <string>

#include <gtest/gtest.h>

#include "dynquant/error.hpp"

namespace dynquant::test {

template <typename F>
testing::AssertionResult fails(F &&f, dnnl_status_t status, const std::string &message) {
    try {
        f();
    } catch (const dnnl::error &e) {
        if (e.status == status && message == e.what()) return testing::AssertionSuccess();
        return testing::AssertionFailure() << "expected status " << status << ": " << message << "\n   given status "
                                           << e.status << ": " << e.what();
    }
    return testing::AssertionFailure() << "no error; expected " << message;
}

} // namespace dynquant::test

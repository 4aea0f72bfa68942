// Whether a call throws an error of exactly this status and message: a dynquant::error, or for one of oneDNN's statuses
// a dnnl::error.
#pragma once

#include <string>
#include <type_traits>

#include <gtest/gtest.h>

#include "dynquant/error.hpp"
#include "oneapi/dnnl/dnnl_common.hpp"

namespace dynquant::test {

template <typename Status>
using error_of = std::conditional_t<std::is_same_v<Status, dynquant::status>, dynquant::error, dnnl::error>;

template <typename F, typename Status>
testing::AssertionResult fails(F &&f, Status status, const std::string &message) {
    try {
        f();
    } catch (const error_of<Status> &e) {
        if (e.status == status && message == e.what()) return testing::AssertionSuccess();
        return testing::AssertionFailure() << "expected status " << static_cast<int>(status) << ": " << message
                                           << "\n   given status " << static_cast<int>(e.status) << ": " << e.what();
    }
    return testing::AssertionFailure() << "no error; expected " << message;
}

} // namespace dynquant::test

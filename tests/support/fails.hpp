// Whether a call throws an error of exactly this status and message: a dynquant::error, or for one of oneDNN's statuses
// a dnnl::error, where graph.hpp is included.
#pragma once

#include <string>

#include <gtest/gtest.h>

#include "dynquant/error.hpp"

namespace dynquant::test {

template <typename Status>
struct error_with;
template <>
struct error_with<dynquant::status> {
    using type = dynquant::error;
};
template <typename Status>
using error_of = typename error_with<Status>::type;

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

// Helpers of dqbench's tests.
#pragma once

#include <string>

#include <gtest/gtest.h>

#include "text_parsing.hpp"

/// Expects f to throw a usage_error in which `message` occurs.
template <typename F>
void expect_usage_error(F &&f, const std::string &message) {
    try {
        f();
    } catch (const dqbench::usage_error &e) {
        EXPECT_NE(std::string(e.what()).find(message), std::string::npos) << message << "\nis not in\n" << e.what();
        return;
    }
    ADD_FAILURE() << "no usage_error: " << message;
}

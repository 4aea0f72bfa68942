// Runs a program as a user does, in a temporary folder, or a function in a child process. What an error says.
#pragma once

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <functional>
#include <iterator>
#include <string>

#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include "scratch_folder.hpp"

/// Writes what scripts/coverage counts. Null in other builds.
extern "C" [[gnu::weak]] int __llvm_profile_write_file(); // NOLINT(bugprone-reserved-identifier)

namespace dynquant::test {

inline std::string contents(const std::filesystem::path &file) {
    std::ifstream in(file, std::ios::binary);
    EXPECT_TRUE(in) << file;
    return {std::istreambuf_iterator<char>(in), {}};
}

inline testing::AssertionResult contains(const std::string &text, const std::string &part) {
    return testing::AssertionResult(text.find(part) != std::string::npos) << "'" << part << "' in\n" << text;
}

/// What an Error thrown by f says.
template <typename Error, typename F>
std::string message_of(F &&f) {
    try {
        f();
    } catch (const Error &e) {
        return e.what();
    }
    ADD_FAILURE() << "no error";
    return {};
}

/// The output while f runs.
template <typename F>
std::string printed_by(F &&f) {
    testing::internal::CaptureStdout();
    try {
        f();
    } catch (...) {
        testing::internal::GetCapturedStdout();
        throw;
    }
    return testing::internal::GetCapturedStdout();
}

struct outcome {
    int status;
    std::string out, err;
};

#ifdef ONEDNN_LEAKS
#ifndef EMULATOR
#define EMULATOR "" // the processor runs the programs itself
#endif
/// Runs a program by the shell in `folder`, which also receives the files of its output. The leak sanitizer is told of
/// oneDNN's own leaks, which the file ONEDNN_LEAKS lists.
inline outcome run_program(const std::filesystem::path &folder, const std::string &environment,
        const std::string &program, const std::string &arguments) {
    const std::string leaks = "LSAN_OPTIONS=print_suppressions=0:suppressions='" ONEDNN_LEAKS "' ";
    const auto command = "cd '" + folder.string() + "' && " + leaks + environment + " " EMULATOR " '" + program + "' "
            + arguments + " >out.txt 2>err.txt";
    const int status = std::system(command.c_str());
    return {WIFEXITED(status) ? WEXITSTATUS(status) : -1, contents(folder / "out.txt"), contents(folder / "err.txt")};
}
#endif

/// What a program printed that succeeds and has nothing to say on stderr.
inline std::string out_of_success(const outcome &of, const std::string &arguments) {
    EXPECT_EQ(of.status, 0) << arguments << '\n' << of.out;
    EXPECT_EQ(of.err, "") << arguments;
    return of.out;
}

/// Whether f() holds in a child. A child that hangs is killed.
inline testing::AssertionResult holds_in_a_child(const std::function<bool()> &f) {
    const auto child = fork();
    if (child == 0) {
        alarm(30);
        const bool holds = f();
        if (__llvm_profile_write_file) __llvm_profile_write_file(); // _exit() does not
        _exit(holds ? 0 : 1);
    }
    int status = 0;
    if (child < 0 || waitpid(child, &status, 0) != child) return testing::AssertionFailure() << "no child";
    if (WIFSIGNALED(status)) return testing::AssertionFailure() << "killed by signal " << WTERMSIG(status);
    return testing::AssertionResult(WEXITSTATUS(status) == 0);
}

} // namespace dynquant::test

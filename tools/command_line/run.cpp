#include "run.hpp"

#include <cerrno>
#include <cstdio>
#include <cstring>
#include <exception>
#include <iostream>
#include <new>

namespace command_line {
namespace {

/// Whether stdout took all that was printed.
bool flush(const char *name) {
    errno = 0;
    std::cout.flush(); // goes through stdout
    if (std::fflush(stdout) == 0 && !std::ferror(stdout)) return true;
    const char *reason = errno != 0 ? std::strerror(errno) : "an earlier part was not taken";
    std::fprintf(stderr, "%s: cannot write all output to stdout: %s\n", name, reason);
    return false;
}

int call(const char *name, int (*body)(int, char **), int argc, char **argv) noexcept {
    try {
        return body(argc, argv);
    } catch (const usage_error &e) {
        print_error(name, e.what());
        return wrong_usage;
    } catch (const std::bad_alloc &) {
        print_error(name, "not enough memory");
    } catch (const std::exception &e) {
        print_error(name, e.what());
    }
    return failure;
}

} // namespace

void print_error(const char *name, const char *text) {
    std::fprintf(stderr, "%s: ", name);
    for (; *text; ++text) {
        const auto code = static_cast<unsigned char>(*text);
        std::fprintf(stderr, code < ' ' || code == 0x7f ? "\\x%02x" : "%c", code);
    }
    std::fputc('\n', stderr);
}

int run(const char *name, int (*body)(int, char **), int argc, char **argv) noexcept {
    const int status = call(name, body, argc, argv);
    return flush(name) || status != 0 ? status : failure;
}

} // namespace command_line

// Environment variables and floating-point state that a test changes and restores.
#pragma once

#include <cstdlib>
#include <optional>
#include <string>

#if defined(__x86_64__)
#include <xmmintrin.h>
#endif

namespace dynquant::test {

/// Sets an environment variable, or removes it, for the life of the object.
class scoped_variable {
  public:
    scoped_variable(const char *name, std::optional<std::string> value)
        : name_(name) {
        if (const char *text = std::getenv(name)) before_ = text;
        assign(value);
    }
    ~scoped_variable() { assign(before_); }
    scoped_variable(const scoped_variable &) = delete;
    scoped_variable &operator=(const scoped_variable &) = delete;

  private:
    void assign(const std::optional<std::string> &value) const {
        if (value)
            setenv(name_, value->c_str(), 1);
        else
            unsetenv(name_);
    }

    const char *name_;
    std::optional<std::string> before_;
};

#if defined(__x86_64__)
/// The bits of MXCSR (Intel SDM volume 1, 10.2.3).
namespace mxcsr {
inline constexpr unsigned power_on = 0x1f80;   // nearest, no flushing, all exceptions masked
inline constexpr unsigned some_flags = 0x0025; // inexact, divided by zero, invalid
inline constexpr unsigned daz = 0x0040, ftz = 0x8000;
inline constexpr unsigned masks = 0x1f80;
inline constexpr unsigned down = 0x2000, up = 0x4000, toward_zero = 0x6000;
} // namespace mxcsr

/// Sets MXCSR for the life of the object.
class scoped_mxcsr {
  public:
    explicit scoped_mxcsr(unsigned value)
        : before_(_mm_getcsr()) {
        _mm_setcsr(value);
    }
    ~scoped_mxcsr() { _mm_setcsr(before_); }
    scoped_mxcsr(const scoped_mxcsr &) = delete;
    scoped_mxcsr &operator=(const scoped_mxcsr &) = delete;

  private:
    unsigned before_;
};
#endif

} // namespace dynquant::test

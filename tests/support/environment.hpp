// Environment variables and floating-point state that a test changes and restores.
#pragma once

#include <cstdint>
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
#define DYNQUANT_TEST_CONTROL_WORD 1
/// The bits of MXCSR (Intel SDM volume 1, 10.2.3).
namespace control {
inline constexpr unsigned power_on = 0x1f80; // nearest, no flushing, all exceptions masked
inline constexpr unsigned flags = 0x3f;
inline constexpr unsigned some_flags = 0x0025; // inexact, divided by zero, invalid
inline constexpr unsigned daz = 0x0040, ftz = 0x8000;
inline constexpr unsigned masks = 0x1f80;
inline constexpr unsigned down = 0x2000, up = 0x4000, toward_zero = 0x6000;
} // namespace control

inline unsigned control_word() {
    return _mm_getcsr();
}
inline void set_control_word(unsigned word) {
    _mm_setcsr(word);
}
#elif defined(__aarch64__)
#define DYNQUANT_TEST_CONTROL_WORD 1
/// The bits of FPCR, and of FPSR below them (Arm ARM, C5.2.8 and C5.2.10). Many processors have no traps.
namespace control {
inline constexpr unsigned power_on = 0; // nearest, no flushing
inline constexpr unsigned flags = 0x9f;
inline constexpr unsigned some_flags = 0x0013; // inexact, divided by zero, invalid
/// ftz flushes operands, too. In place of that: NaN is the default one, and f16 has no infinities.
inline constexpr unsigned ftz = 1U << 24, daz = 1U << 25 | 1U << 26;
inline constexpr unsigned masks = 0;
inline constexpr unsigned up = 1U << 22, down = 2U << 22, toward_zero = 3U << 22;
} // namespace control

inline unsigned control_word() {
    std::uint64_t modes = 0, flags = 0;
    __asm__ volatile("mrs %0, fpcr" : "=r"(modes));
    __asm__ volatile("mrs %0, fpsr" : "=r"(flags));
    return static_cast<unsigned>(modes | (flags & control::flags));
}
inline void set_control_word(unsigned word) {
    __asm__ volatile("msr fpcr, %0" : : "r"(std::uint64_t {word & ~control::flags}) : "memory");
    __asm__ volatile("msr fpsr, %0" : : "r"(std::uint64_t {word & control::flags}) : "memory");
}
#endif

#if DYNQUANT_TEST_CONTROL_WORD
/// Sets the control word for the life of the object.
class scoped_control_word {
  public:
    explicit scoped_control_word(unsigned value)
        : before_(control_word()) {
        set_control_word(value);
    }
    ~scoped_control_word() { set_control_word(before_); }
    scoped_control_word(const scoped_control_word &) = delete;
    scoped_control_word &operator=(const scoped_control_word &) = delete;

  private:
    unsigned before_;
};
#endif

} // namespace dynquant::test

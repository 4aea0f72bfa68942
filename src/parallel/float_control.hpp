// The floating-point environment that the numerics contract assumes.
#pragma once

#if defined(__x86_64__)
#include <xmmintrin.h>
#elif defined(__aarch64__)
#include <cstdint>
#else
#include <cfenv>
#endif

namespace dynquant::parallel {

/// During its lifetime, this thread rounds to nearest even, keeps subnormals and masks exceptions. The destructor
/// restores the caller's control word and exception flags. About 8 ns.
///
/// Compilers move arithmetic across a change of the control word, so guarded arithmetic must be behind a call that is
/// not inlined.
class float_control {
  public:
#if defined(__x86_64__)
    float_control()
        : saved_(_mm_getcsr()) {
        // The caller's flags are kept, so that the word is usually unchanged and not written, which saves 2 ns.
        // Writing a changed word stalls: 256 elements took 124 ns in place of 43.
        if ((saved_ & ~flags) != power_on_default) _mm_setcsr(power_on_default | (saved_ & flags));
    }
    ~float_control() {
        _mm_setcsr(saved_);
    }
#elif defined(__aarch64__)
    // Writing the control register stalls, and it is nearly always 0: to nearest even, subnormals kept, NaN as IEEE 754
    // says, IEEE's f16, no traps (Arm ARM, D24.3.4). Flags are written where the arithmetic raised one.
    float_control() {
        __asm__ volatile("mrs %0, fpcr" : "=r"(control_));
        __asm__ volatile("mrs %0, fpsr" : "=r"(flags_));
        if (control_ != 0) __asm__ volatile("msr fpcr, xzr" : : : "memory");
    }
    ~float_control() {
        std::uint64_t flags = 0;
        __asm__ volatile("mrs %0, fpsr" : "=r"(flags));
        if (flags != flags_) __asm__ volatile("msr fpsr, %0" : : "r"(flags_) : "memory");
        if (control_ != 0) __asm__ volatile("msr fpcr, %0" : : "r"(control_) : "memory");
    }
#else
    float_control() {
        std::fegetenv(&saved_);
        std::fesetenv(FE_DFL_ENV);
    }
    ~float_control() {
        std::fesetenv(&saved_);
    }
#endif
    float_control(const float_control &) = delete;
    float_control &operator=(const float_control &) = delete;

  private:
#if defined(__x86_64__)
    static constexpr unsigned power_on_default = 0x1f80, flags = 0x3f; // Intel SDM volume 1, 10.2.3
    unsigned saved_;
#elif defined(__aarch64__)
    std::uint64_t control_ = 0, flags_ = 0;
#else
    std::fenv_t saved_;
#endif
};

} // namespace dynquant::parallel

// Included before anything else in every file of a tree with mutants, which by_tests makes.
#pragma once

#include <fcntl.h>
#include <stdlib.h>
#include <sys/mman.h>

namespace dynquant_mutants {

/// The mutant of this process: MUTANT, or none.
[[gnu::visibility("hidden")]] inline const int chosen = getenv("MUTANT") ? atoi(getenv("MUTANT")) : -1;

/// The file MUTANTS_REACHED, a byte for each number, or null.
[[gnu::visibility("hidden")]] inline unsigned char *const reached = [] {
    const auto *const name = getenv("MUTANTS_REACHED");
    const auto file = name ? open(name, O_RDWR) : -1;
    auto *const memory = file < 0 ? MAP_FAILED : mmap(nullptr, 1 << 16, PROT_READ | PROT_WRITE, MAP_SHARED, file, 0);
    return memory == MAP_FAILED ? nullptr : static_cast<unsigned char *>(memory);
}();

} // namespace dynquant_mutants

/// Whether the code is to run changed. What the compiler computes is not.
[[gnu::always_inline]] inline constexpr bool dynquant_mutant(int number) {
    if (__builtin_is_constant_evaluated()) return false;
    if (dynquant_mutants::reached) dynquant_mutants::reached[number] = 1;
    return dynquant_mutants::chosen == number;
}

// Chooses the kernel and the instruction set through the environment; a graph program has no other way.
#pragma once

#include <optional>
#include <string>

#include "test_case.hpp"

namespace dqbench {

/// Sets or removes an environment variable, and restores it at destruction. Not thread-safe.
class scoped_variable {
  public:
    scoped_variable(const char *name, const std::optional<std::string> &value);
    ~scoped_variable();
    scoped_variable(const scoped_variable &) = delete;
    scoped_variable &operator=(const scoped_variable &) = delete;

  private:
    const char *name_;
    std::optional<std::string> before_;
};

/// Sets DYNQUANT_KERNEL and DYNQUANT_MAX_ISA to the case's choice; `auto` keeps them unchanged.
class scoped_choice {
  public:
    explicit scoped_choice(const test_case &c);

  private:
    std::optional<scoped_variable> kernel_, isa_;
};

} // namespace dqbench

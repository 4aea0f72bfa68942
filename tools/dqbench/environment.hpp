// The library reads its kernel and instruction set from the environment; a graph program has no other
// way to name them.
#pragma once

#include <optional>
#include <string>

#include "test_case.hpp"

namespace dqbench {

/// Sets a variable, or removes it, and puts back what was there.
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

/// DYNQUANT_KERNEL and DYNQUANT_MAX_ISA as the case asks for; where it says auto they stay.
class scoped_choice {
  public:
    explicit scoped_choice(const test_case &c);

  private:
    std::optional<scoped_variable> kernel_, isa_;
};

/// The strongest instruction set of this processor, whatever the environment allows.
dynquant::isa processor_isa();

} // namespace dqbench

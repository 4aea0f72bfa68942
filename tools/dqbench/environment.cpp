#include "environment.hpp"

#include <cstdlib>

#include "vocabulary.hpp"

namespace dqbench {
namespace {

void assign(const char *name, const std::optional<std::string> &value) {
    if (value)
        setenv(name, value->c_str(), 1);
    else
        unsetenv(name);
}

} // namespace

scoped_variable::scoped_variable(const char *name, const std::optional<std::string> &value)
    : name_(name) {
    if (const char *text = std::getenv(name)) before_ = text;
    assign(name, value);
}

scoped_variable::~scoped_variable() {
    assign(name_, before_);
}

scoped_choice::scoped_choice(const test_case &c) {
    if (c.kernel != kernel_choice::automatic) kernel_.emplace("DYNQUANT_KERNEL", name_of(c.kernel));
    if (c.isa) isa_.emplace("DYNQUANT_MAX_ISA", dynquant::to_string(*c.isa));
}

} // namespace dqbench

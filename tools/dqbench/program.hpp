// How dynquant runs a case: through its graph API or its direct API.
#pragma once

#include <memory>

#include "contestant.hpp"
#include "graph_program.hpp"

namespace dqbench {

class program : public contestant {
  public:
    virtual dynquant::dims dst_strides() const = 0;
    virtual dynquant::operation_info info() const = 0;

    /// Sets the buffers of execute().
    virtual void bind(const buffers &b) = 0;
};

/// Throws usage_error, or dnnl::error or dynquant::error when the statement is refused.
std::unique_ptr<program> make_program(const test_case &c, const statement &s, const parameters &p);

} // namespace dqbench

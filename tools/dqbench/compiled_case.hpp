// A case compiled by dynquant, which every mode but listing begins with.
#pragma once

#include "graph_program.hpp"
#include "outcome.hpp"
#include "workspace.hpp"

namespace dqbench {

struct compiled_case {
    /// Throws usage_error, dnnl::error, or bad_alloc when the machine has too little memory.
    explicit compiled_case(const test_case &c);

    workspace make_workspace(filling kind) const;

    const test_case &what;
    statement s;
    parameters drawn;
    graph_program<with_dynquant> program;
    dynquant::dims dst_strides;
    dynquant::operation_info ran;
};

} // namespace dqbench

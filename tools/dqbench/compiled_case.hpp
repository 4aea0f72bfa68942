// A case compiled by dynquant: the first step of every mode except listing.
#pragma once

#include "outcome.hpp"
#include "peers/peer.hpp"
#include "program.hpp"
#include "workspace.hpp"

#include <stdexcept>

namespace dqbench {

/// The case's scales and zero points: as given, else drawn.
parameters draw_parameters(const test_case &c, const statement &s);

/// The machine has too little memory for a case.
struct not_enough_memory : std::runtime_error {
    using std::runtime_error::runtime_error;
};

struct compiled_case {
    /// Throws usage_error, dnnl::error, dynquant::error or not_enough_memory.
    explicit compiled_case(const test_case &c);

    workspace make_workspace(filling kind) const;

    /// The task for a peer, which writes to dst.
    task task_for(workspace &w, guarded_buffer &dst) const;

    const test_case &what;
    statement s;
    parameters drawn;
    std::unique_ptr<dqbench::program> program;
    dynquant::dims dst_strides;
    dynquant::operation_info ran;
};

} // namespace dqbench

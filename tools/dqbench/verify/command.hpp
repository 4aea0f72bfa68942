// `dqbench verify`.
#pragma once

namespace dqbench::verify {

/// argv[0] is "verify". Returns an exit status: success, or failure where a digest differs. Throws usage_error.
int run(int argc, char **argv);

} // namespace dqbench::verify

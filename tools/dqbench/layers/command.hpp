// `dqbench layers`: chains of ops around a MatMul, from oneDNN Graph's JSON, by dynquant::graph and by oneDNN.
#pragma once

#include <filesystem>

namespace dqbench::layers {

/// argv[0] is "layers"; inputs: where files are that are not found as they are named. Returns an exit status: success,
/// or failure where a result is wrong. Throws usage_error.
int run(int argc, char **argv, const std::filesystem::path &inputs);

} // namespace dqbench::layers

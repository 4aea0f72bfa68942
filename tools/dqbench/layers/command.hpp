// `dqbench layers`: chains of ops around a MatMul, from oneDNN Graph's JSON, by dynquant::graph and by oneDNN.
#pragma once

#include <filesystem>
#include <vector>

namespace dqbench::layers {

/// argv[0] is "layers"; inputs: folders of files that are not found as they are named. Returns an exit status: success,
/// or failure where a result is wrong. Throws usage_error.
int run(int argc, char **argv, const std::vector<std::filesystem::path> &inputs);

} // namespace dqbench::layers

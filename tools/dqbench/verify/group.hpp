// tools/dqbench/verify: `dqbench verify` computes statements by every kernel and instruction set and compares digests
// of the results with a committed table, so that whoever doubts can check that the bits are the same on his machine.
//
// Start here. operators.cpp, layers.cpp and floats.cpp make the statements; digest.hpp says what is hashed; table.hpp
// reads the committed digests; command.cpp is the command.
#pragma once

#include <algorithm>
#include <functional>
#include <initializer_list>
#include <string>
#include <string_view>
#include <vector>

#include "digest.hpp"
#include "targets/features.hpp"

namespace dqbench::verify {

/// How a statement is computed. The reference is the definition of its results: the reference kernel for operators,
/// plain loops for layers.
struct way {
    std::string name;
    bool is_reference = false;
    dynquant::targets::features available = dynquant::targets::scalar;
    int threads = 1;
};

/// The options of an operator that is computed so.
inline dynquant::options options_of(const way &w) {
    dynquant::options how;
    how.kernel = w.is_reference ? dynquant::kernel_kind::reference : dynquant::kernel_kind::native;
    how.max_isa = dynquant::targets::strongest(w.available);
    how.threads = w.threads;
    return how;
}

/// Computes a statement whose inputs are drawn.
using computation = std::function<digest(const way &)>;

/// Inputs depend on the statement alone.
struct statement {
    std::string line; // what it is: for an operator the command that checks it
    std::int64_t results = 0;
    std::function<computation()> draw;
};

/// A rule and its types, which have one digest in the table.
struct cell {
    std::string name; // without spaces
    std::vector<statement> statements;
};

/// Some of targets::instruction_sets.
inline std::vector<dynquant::targets::instruction_set> sets_named(std::initializer_list<std::string_view> names) {
    std::vector<dynquant::targets::instruction_set> result;
    for (const auto &set : dynquant::targets::instruction_sets)
        if (std::ranges::find(names, set.name) != names.end()) result.push_back(set);
    return result;
}

/// What operators are compiled for.
inline const auto operator_sets = sets_named({"scalar", "avx2", "avx512", "neon"});

/// Cells that print one line.
struct group {
    std::string name;
    std::vector<dynquant::targets::instruction_set> sets; // what its kernels are compiled for
    std::vector<cell> cells;
    int most_threads = 4; // by which its larger statements are computed, too
};

/// A minute of one core.
std::vector<group> operator_groups();
std::vector<group> layer_groups();

/// Hours: every float by scales in and beyond every range in which kernels divide differently; and the operators again,
/// in larger tensors.
std::vector<group> float_groups();
std::vector<group> long_operator_groups();

} // namespace dqbench::verify

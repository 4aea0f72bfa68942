// The instruction sets with which a test runs: those that this processor has.
#pragma once

#include <string>
#include <vector>

#include "kernels/native/microkernel.hpp"
#include "targets/features.hpp"

namespace dynquant::test {

/// Code and the name of its instruction set.
template <typename Code>
struct tested {
    std::string name;
    Code code;
};

/// What of a table this processor can run.
template <typename Code>
std::vector<tested<Code>> runnable(const targets::candidate<Code> *table) {
    std::vector<tested<Code>> result;
    for (const auto *c = table;; ++c) {
        for (const auto &set : targets::instruction_sets)
            if (c->code && set.needs == c->needs && targets::has(targets::of_processor(), c->needs))
                result.push_back({set.name, c->code});
        if (c->needs == targets::scalar) return result;
    }
}

/// runnable() of a table of functions.
template <typename Function>
std::vector<tested<Function>> runnable_functions(const targets::candidate<const Function *> *table) {
    std::vector<tested<Function>> result;
    for (const auto &each : runnable(table))
        result.push_back({each.name, *each.code});
    return result;
}

using tested_set = tested<const kernels::native::kernel_loops *>;

/// The tables of microkernels.
inline std::vector<tested_set> available_sets() {
    return runnable(kernels::native::loops_table);
}

} // namespace dynquant::test

// The instruction sets with which a test runs: those that this processor has.
#pragma once

#include <initializer_list>
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

/// The candidates that this processor can run.
template <typename Code>
std::vector<tested<Code>> runnable(std::initializer_list<targets::candidate<Code>> candidates) {
    std::vector<tested<Code>> result;
    for (const auto &c : candidates)
        for (const auto &set : targets::instruction_sets)
            if (set.needs == c.needs && targets::has(targets::of_processor(), c.needs))
                result.push_back({set.name, c.code});
    return result;
}

using tested_set = tested<const kernels::native::instruction_set *>;

/// The tables of microkernels.
inline std::vector<tested_set> available_sets() {
    using namespace kernels::native;
    return runnable<const instruction_set *>({
        {targets::scalar, &scalar_set},
#if defined(__x86_64__)
                {targets::avx2, &avx2_set}, {targets::avx512, &avx512_set},
#endif
    });
}

} // namespace dynquant::test

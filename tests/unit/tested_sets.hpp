// The instruction sets whose tables of microkernels this processor can run.
#pragma once

#include <string>
#include <vector>

#include "kernels/native/microkernel.hpp"
#include "quantization/isa.hpp"

namespace dynquant::test {

struct tested_set {
    std::string name;
    const kernels::native::instruction_set *set;
};

inline std::vector<tested_set> available_sets() {
    using namespace kernels::native;
    std::vector<tested_set> sets = {{"scalar", &scalar_set}};
#if defined(__x86_64__)
    if (processor_isa() >= isa::avx2) sets.push_back({"avx2", &avx2_set});
    if (processor_isa() >= isa::avx512) sets.push_back({"avx512", &avx512_set});
#endif
    return sets;
}

} // namespace dynquant::test

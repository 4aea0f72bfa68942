// The instruction set by which the process's oneDNN multiplies bytes.
#pragma once

#include "oneapi/dnnl/dnnl.h"

namespace dynquant::test {

/// Without it oneDNN's products of bytes saturate, so that dynquant takes also what oneDNN fuses.
inline bool onednn_has_vnni() {
    const auto isa = static_cast<unsigned>(dnnl_get_effective_cpu_isa());
    const auto has = [=](unsigned needed) { return (isa & needed) == needed; };
    return has(dnnl_cpu_isa_avx2_vnni) || has(dnnl_cpu_isa_avx512_core_vnni);
}

} // namespace dynquant::test

// The ordered list of kernels of libdynquant. The drop-in, which is not linked with oneDNN, has its own.
#include "kernels/kernels.hpp"

namespace dynquant::kernels {

std::span<const kernel &(*const)()> in_order() {
    static constexpr const kernel &(*list[])() = {native_kernel, onednn_kernel, reference_kernel};
    return list;
}

} // namespace dynquant::kernels

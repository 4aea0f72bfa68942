// Apart from own_kernels(), so that what does not call it is not linked with oneDNN.
#include "kernels/kernels.hpp"

namespace dynquant::kernels {

kernel_list every_kernel() {
    static constexpr const kernel &(*list[])() = {native_kernel, onednn_kernel, reference_kernel};
    return list;
}

} // namespace dynquant::kernels

// A file of its own: only programs that call every_kernel() link oneDNN.
#include "kernels/kernels.hpp"

namespace dynquant::kernels {

kernel_list every_kernel() {
    static constexpr const kernel *list[] = {&native_kernel, &onednn_kernel, &reference_kernel};
    return list;
}

} // namespace dynquant::kernels

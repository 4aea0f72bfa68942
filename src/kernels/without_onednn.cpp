// In place of every_kernel.cpp, for builds without oneDNN.
#include "kernels/kernels.hpp"

namespace dynquant::kernels {

kernel_list every_kernel() {
    return own_kernels();
}

} // namespace dynquant::kernels

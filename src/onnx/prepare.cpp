// In a separate file, so that a library that does not call it is not linked with oneDNN.
#include "onnx/operation.hpp"

namespace dynquant::onnx {

operation prepare(const node &n, const options &opts) {
    return prepare(n, opts, kernels::every_kernel());
}

} // namespace dynquant::onnx

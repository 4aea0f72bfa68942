// The public prepare(): by every kernel. A file of its own, so that what does not call it is not linked with oneDNN.
#include "kernels/kernels.hpp"
#include "parallel/float_control.hpp"

namespace dynquant {
namespace {

[[gnu::noinline]] void require_right(const quantization &q) {
    if (const auto wrong = check(q)) throw error(wrong->status, wrong->message);
}

} // namespace

operation prepare(const quantization &q, const options &opts) {
    const parallel::float_control control; // known parameters are looked at
    require_right(q);
    return kernels::prepare(q, opts, kernels::every_kernel());
}

} // namespace dynquant

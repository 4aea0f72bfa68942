// The public prepare(), which tries every kernel. A file of its own: only programs that call it link oneDNN.
#include "kernels/kernels.hpp"
#include "parallel/float_control.hpp"

namespace dynquant {
namespace {

[[gnu::noinline]] void require_right(const quantization &q) {
    if (const auto wrong = check(q)) throw error(wrong->status, wrong->message);
}

} // namespace

operation prepare(const quantization &q, const options &opts) {
    const parallel::float_control control; // check() compares known parameters
    require_right(q);
    return kernels::prepare(q, opts, kernels::every_kernel());
}

} // namespace dynquant

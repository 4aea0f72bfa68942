#include "limit/limit.hpp"

namespace dqbench::limit {
namespace {

using dynquant::isa;

const dynquant::kernels::native::row_functions &rows_of(isa value) {
#if defined(__x86_64__)
    if (value == isa::avx512) return avx512_rows;
    if (value == isa::avx2) return avx2_rows;
#endif
    return scalar_rows;
}

} // namespace

std::unique_ptr<dynquant::kernels::implementation> prepare(const dynquant::quantization &q, isa value) {
    namespace native = dynquant::kernels::native;
    dynquant::kernels::settings settings;
    settings.max_isa = value;
    return native::apply_rows(q, settings, native::function_of(rows_of(value), q));
}

} // namespace dqbench::limit

#include "targets/scalar.hpp"

#include "layers/narrow/isa/multiply_narrow.hpp"

namespace dynquant::layers {
namespace {

/// With one rounding, as the definition has it.
struct fused : simd::scalar {
    static reals fma(reals a, reals b, reals c) { return __builtin_fmaf(a, b, c); }
};

} // namespace

constinit const narrow_kind scalar_narrow = narrow_kind_of<fused>();

} // namespace dynquant::layers

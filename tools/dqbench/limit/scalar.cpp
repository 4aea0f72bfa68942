#include "targets/scalar.hpp"

#include "limit/microkernels.hpp"

namespace dqbench::limit {
namespace {

/// A lane is a float that carries arbitrary bits.
struct scalar : simd::scalar {
    using simd::scalar::load, simd::scalar::pack;

    static integers load(const std::uint8_t *p) { return *p; }
    static reals as_reals(integers a) { return __builtin_bit_cast(float, a); }

    static simd::several<scalar, 1> pack(const std::uint8_t *, reals a, reals b, reals c, reals d) {
        return {bits(a) | bits(b) | bits(c) | bits(d)};
    }

  private:
    static integers bits(reals a) { return __builtin_bit_cast(integers, a); }
};

} // namespace

constinit const instruction_set scalar_set = set_of<scalar>();

} // namespace dqbench::limit

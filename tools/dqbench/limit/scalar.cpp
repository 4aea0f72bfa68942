#include "targets/scalar.hpp"

#include "limit/microkernels.hpp"

namespace dqbench::limit {
namespace {

/// A lane is a float that carries arbitrary bits.
struct scalar : simd::scalar {
    using simd::scalar::load;

    static integers load(const std::uint8_t *p) { return *p; }
    static reals as_reals(integers a) { return __builtin_bit_cast(float, a); }

    template <typename T>
    static T converted(reals a) {
        if constexpr (std::is_same_v<T, std::uint8_t>)
            return static_cast<std::uint8_t>(as_integers(a));
        else
            return simd::scalar::converted<T>(a);
    }
};

} // namespace

constinit const instruction_set scalar_set = set_of<scalar>();

} // namespace dqbench::limit

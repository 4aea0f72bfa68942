#include "kernels/native/isa/scalar.hpp"

#include <cstring>

#include "limit/microkernels.hpp"

namespace dqbench::limit {
namespace {

/// A lane is a float that holds any bits.
struct scalar : native::scalar {
    using native::scalar::load, native::scalar::store, native::scalar::store_partial, native::scalar::stream;

    static integers load(const std::uint8_t *p) { return *p; }
    static reals as_reals(integers a) { return __builtin_bit_cast(float, a); }

    static void store(std::uint8_t *p, reals a, reals b, reals c, reals d) {
        const integers joined = join(a, b, c, d);
        std::memcpy(p, &joined, sizeof(joined));
    }
    static void stream(std::uint8_t *p, reals a, reals b, reals c, reals d) { store(p, a, b, c, d); }
    static void store_partial(std::uint8_t *p, std::int64_t count, reals a, reals b, reals c, reals d) {
        const integers joined = join(a, b, c, d);
        for (std::int64_t i = 0; i < count; ++i)
            p[i] = static_cast<std::uint8_t>(joined >> (8 * i));
    }

  private:
    static integers bits(reals a) { return __builtin_bit_cast(integers, a); }
    static integers join(reals a, reals b, reals c, reals d) { return bits(a) | bits(b) | bits(c) | bits(d); }
};

} // namespace

constinit const instruction_set scalar_set = set_of<scalar>();

} // namespace dqbench::limit
